"""Pictures in one style, and pictures that move without a kernel.

    from coursekit import figures

    history.plot()                                         # the loss, with the limit
    figures.attention(alpha, source, target, gold)         # a map
    figures.slider(frames, labels, name="step", caption="What moves")

Every figure is a `Picture`: an SVG that takes the page's ink and font, with words for those who cannot see.
"""

from __future__ import annotations

from importlib import import_module

_MODULES = {
    "palette": "BLUE ORANGE GREEN PURPLE PALETTE DASHES INK",
    "style": "HEAT canvas in_style",
    "svg": "Picture picture",
    "frames": "Slider slider",
    "curves": "loss_curve gradient_norms eigenvalues temperature",
    "maps": "attention pattern gates scene images",
    "words": "arcs embedding_map",
    "sliders": "loss_slider exploding_slider temperature_slider pattern_slider attention_slider reading_slider "
    "caption_slider gates_slider gradient_slider",
    "measure": "gradient_norms_through_time gate_activity matrix_with_radius backward_norms",
    "exploring": "explore",
    "bar": "Bar",
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
