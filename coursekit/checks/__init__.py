"""What a student calls to hear whether an answer is right, and if not, what is wrong with it.

    checks.gradients(grads_t, loss=J, given=case, wrt=["U", "H", "b1"])
    checks.value(answer, digest)

Every check returns a `Result`: a panel in a notebook, text in a terminal. In a test cell,
`checks.value(...).require()` raises `CheckFailed` with the sentence that the panel shows.
"""

from ..lazy import lazily

# Loaded on first use, so that a check of a number or a choice never waits for torch.
HOMES = {
    "asked.choosing": "choice edges ordering",
    "asked.derivation": "derivation",
    "asked.design": "Property near properties",
    "asked.equation": "equations warm",
    "asked.formula": "big_o closed_form",
    "asked.function": "function gradients",
    "asked.language_model": "kept_numbers perplexity word_losses",
    "asked.notebook": "whole_notebook",
    "asked.number": "entries parts value",
    "asked.operation": "operations",
    "judging.cases": "any_seed",
    "judging.counting": "count",
    "judging.outcome": "Mistake planted",
    "shown.locked": "digest",
    "shown.result": "CheckFailed Result",
}
__getattr__, __dir__, __all__ = lazily(__name__, HOMES, modules=False)
