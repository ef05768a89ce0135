"""Running on torch tensors (`runner`): what is executed is text of its own, made of the tree alone."""
