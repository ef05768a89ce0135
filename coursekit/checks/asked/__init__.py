"""The checks themselves, one kind of question a file."""
