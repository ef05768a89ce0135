"""Data that needs no download: text, grammars of known entropy, tasks with gold answers.

    from coursekit import data

    corpus = data.python_reference()
    grammar = data.english()
    grammar.entropy_per_word            # the best loss that any model can reach

Everything is drawn from a seed, and is the same on every machine.
"""

from ..lazy import lazily

HOMES = {
    "vocabulary": "BadData PAD EOS UNK Vocabulary",
    "batches": "Batches padded",
    "corpus": "Corpus python_reference tokens",
    "grammar": "Grammar",
    "trees": "Parse Pair Tree parse translate",
    "tasks": "english brackets Dependencies Translation dependencies translation",
    "scenes": "Digits Scenes Thing",
    "scoring": "alignment_error attachment_score label_scores gold_mass",
}
__getattr__, __dir__, __all__ = lazily(__name__, HOMES)
