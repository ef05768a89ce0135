"""Running and reading an answer, and telling whether it is right."""
