"""Free exploration in a running notebook: a figure drawn anew for every setting.

    explore(lambda radius, steps: eigenvalues(...), radius=(0.5, 1.5), steps=[10, 20, 40])

It needs a kernel; a page that is only read has `slider`.
"""

from collections.abc import Callable
from typing import Any


def explore(function: Callable[..., Any], **ranges: Any) -> Any:
    """Show `function(**setting)` under one control for each name.

    A range is (low, high) or (low, high, step), whole or decimal; a list of choices; True or False; or a text.
    """
    import ipywidgets
    from IPython.display import display

    if not ranges:
        raise ValueError("there is nothing to explore; give at least one range, as in radius=(0.5, 1.5)")
    controls = {name: _control(ipywidgets, name, value) for name, value in ranges.items()}
    show = lambda **setting: display(function(**setting))
    panel = ipywidgets.VBox([*controls.values(), ipywidgets.interactive_output(show, controls)])
    display(panel)
    return panel


def _control(widgets: Any, name: str, value: Any) -> Any:
    common = {"description": name, "continuous_update": False}
    if isinstance(value, bool):
        return widgets.Checkbox(value=value, description=name)
    if isinstance(value, str):
        return widgets.Text(value=value, **common)
    if isinstance(value, list) and value:
        return widgets.Dropdown(options=value, description=name)
    if isinstance(value, tuple) and len(value) in (2, 3) and value[0] < value[1]:
        low, high = value[:2]
        whole = all(isinstance(v, int) for v in value)
        step = value[2] if len(value) == 3 else 1 if whole else (high - low) / 50
        kind = widgets.IntSlider if whole else widgets.FloatSlider
        return kind(value=low, min=low, max=high, step=step, **common)
    raise ValueError(f"{name} is {value!r}; give (low, high), a list of choices, True, False or a text")
