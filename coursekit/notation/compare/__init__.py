"""Comparing two systems and naming the difference (`comparison`); the mutations it knows."""
