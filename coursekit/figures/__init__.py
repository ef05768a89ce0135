"""Pictures in one style, and pictures that move without a kernel.

    from coursekit import figures

    history.plot()                                         # the loss, with the limit
    figures.attention(alpha, source, target, gold)         # a map
    figures.slider(frames, labels, name="step", caption="What moves")

Every figure is a `Picture`: an SVG that takes the page's ink and font, with words for those who cannot see.
In a running notebook `ipywidgets.interact` draws any of them anew for every setting.
"""

from ..lazy import lazily

HOMES = {
    "palette": "BLUE ORANGE GREEN PURPLE PALETTE DASHES INK",
    "svg": "HEAT Picture canvas in_style picture",
    "frames": "Slider slider exploding_slider temperature_slider pattern_slider gradient_slider",
    "curves": "loss_curve gradient_norms eigenvalues temperature",
    "maps": "attention pattern gates scene images arcs name_points",
    "measure": "gradient_norms_through_time gate_activity matrix_with_radius backward_norms",
    "bar": "Bar",
}
__getattr__, __dir__, __all__ = lazily(__name__, HOMES)
