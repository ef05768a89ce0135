"""Every model of the course, one file per family, its equations beside the code.

    from coursekit.models import GRU, LanguageModel
    from coursekit.models import bptt, rnn_lm           # the modules themselves

A name is imported when it is first used, so that `import coursekit.models` costs nothing.
"""

from ..lazy import lazily

HOMES = {
    "guards": "BadInput need_finite need_ids need_like need_shape",
    "rnn_lm": "Params",
    "bptt": "",
    "cells": "Cell Vanilla UGRNN GRU TorchGRU LSTM",
    "fast_cells": "",
    "language_model": "LanguageModel",
    "stacked": "Stacked Bidirectional",
    "blank": "BlankLanguageModel",
    "skipgram": "",
    "clipping": "clip_each clip_global",
    "convolution": "LanguageCNN UpdateGateCNN",
    "grid": "GridRNN",
    "seq2seq": "Encoder Decoder AttentionDecoder ThoughtTranslator AttentionTranslator",
    "captioning": "Captioner",
    "patterns": "",
    "attention": "Heads",
    "local_attention": "",
    "merged": "",
    "positions": "PlacedWords",
    "transformer": "FeedForward Layer Stack TransformerLM TransformerTranslator",
    "losses": "focus near next_word_loss",
    "sampling": "generate sample",
    "trigram": "NeuralTrigram",
}
__getattr__, __dir__, __all__ = lazily(__name__, HOMES)
