"""Data that needs no download: text, grammars of known entropy, tasks with gold answers.

    from coursekit import data

    corpus = data.python_reference()
    grammar = data.english()
    grammar.entropy_per_word            # the best loss that any model can reach

Everything is drawn from a seed, and is the same on every machine.
"""

from __future__ import annotations

from importlib import import_module

_MODULES = {
    "errors": "BadData",
    "vocabulary": "PAD EOS UNK Vocabulary",
    "batches": "Batches padded",
    "corpus": "Corpus python_reference own_text tokens sentences",
    "grammar": "Grammar",
    "grammars": "english brackets counting",
    "trees": "Parse Pair Tree parse translate",
    "tasks": "Dependencies Translation dependencies translation",
    "scenes": "Scenes Thing",
    "digits": "Digits",
    "scoring": "alignment_error attachment_score label_scores gold_mass",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted([*_MODULES, *_HOME])


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
