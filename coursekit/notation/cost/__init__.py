"""Counting: parameters, multiply-adds and parallel depth as exact polynomials (`costs`)."""
