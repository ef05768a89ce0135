"""Running on torch tensors (`runner`); sizes and contraction orders, which need no torch."""
