"""Derivations: chains of equalities, checked line by line."""
