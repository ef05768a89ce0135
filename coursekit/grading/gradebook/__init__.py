"""Grades: nbgrader's own database, late policy, and what other systems read."""
