"""Pictures in one style, and pictures that move without a kernel.

    from coursekit import figures

    history.plot()                                         # the loss, with the limit
    figures.attention(alpha, source, target, gold)         # a map
    figures.slider(frames, labels, name="step", caption="What moves")

Every figure is a `Picture`: an SVG that takes the page's ink and font, with words for those who cannot see.
"""

from ..lazy import lazily

HOMES = {
    "palette": "BLUE ORANGE GREEN PURPLE PALETTE DASHES INK",
    "style": "HEAT canvas in_style",
    "svg": "Picture picture",
    "frames": "Slider slider",
    "curves": "loss_curve gradient_norms eigenvalues temperature",
    "maps": "attention pattern gates scene images",
    "words": "arcs name_points",
    "sliders": "exploding_slider temperature_slider pattern_slider gradient_slider",
    "measure": "gradient_norms_through_time gate_activity matrix_with_radius backward_norms",
    "exploring": "explore",
    "bar": "Bar",
}
__getattr__, __dir__, __all__ = lazily(__name__, HOMES)
