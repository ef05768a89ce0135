"""Equations as plain JavaScript: loops over flat typed arrays, for a place where a figure must move."""
