"""A system as a readable PyTorch function (`function`); it writes text and imports no torch."""
