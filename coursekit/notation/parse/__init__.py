"""Reading: text in ASCII or LaTeX becomes tokens (`latex_reader`, on `scanner`), tokens a tree (`parser`)."""
