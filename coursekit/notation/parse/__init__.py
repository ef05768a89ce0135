"""Reading: text in ASCII or LaTeX becomes tokens (`scanner`, `latex_reader`), tokens a tree (`parser`)."""
