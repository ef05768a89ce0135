"""Meaning: every index has a range, every tensor its dimensions, the equations an order (`checker`)."""
