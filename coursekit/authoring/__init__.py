"""From `solutions/` to `notebooks/`: read a source, prove it, release it without its answers."""
