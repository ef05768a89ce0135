"""Building the book: what it serves itself, its pages, its buttons."""
