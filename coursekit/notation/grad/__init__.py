"""Differentiating: the backward pass as equations of the same language (`gradient`)."""
