"""`{equation-card}`: equations of the course's language, typeset, with tabs for shapes, cost, gradient and code.

    ```{equation-card} gru
    :title: The gated recurrent unit
    h[b,t,j] = …
    ```

All of it is computed from the one text. The equation is numbered, and {eq}`eq-gru` refers to it. Text that does not
parse fails the build, with the page's file and line.
"""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ..notation import Equations, NotationError


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


class EquationCard(SphinxDirective):
    """An equation card; see the module's text."""

    required_arguments = 1
    has_content = True
    option_spec = {
        "title": directives.unchanged_required,
        "parameters": names,
        "gradient": directives.unchanged_required,
        "wrt": names,
        "source": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        try:
            equations = Equations("\n".join(self.content))
            text = card(self.arguments[0], equations, self.options)
        except NotationError as error:
            raise self.error(str(error)) from error
        box = nodes.container(classes=["equation-card"])
        self.state.nested_parse(StringList(text.splitlines(), source=""), self.content_offset, box)
        return [box]


def card(label: str, equations: Equations, options: dict) -> str:
    """The card's text, in MyST."""
    parts = {
        "Shapes": shapes(equations),
        "Cost": costs(equations, options.get("parameters")),
        "Gradient": gradient(equations, options),
        "Code": code(equations),
    }
    tabs = "\n".join(f":::{{tab-item}} {name}\n{text}\n:::" for name, text in parts.items())
    title = f"**{options['title']}**\n\n" if "title" in options else ""
    return f"{title}```{{math}}\n:label: eq-{label}\n{equations.latex()}\n```\n\n::::{{tab-set}}\n{tabs}\n::::\n"


def shapes(equations: Equations) -> str:
    rows = ["| tensor | shape | |", "|---|---|---|"]
    for tensor in equations.system.tensors.values():
        role = "computed" if tensor.defined else "given"
        rows.append(f"| `{tensor.name}` | {' × '.join(tensor.dims) or 'a number'} | {role} |")
    return "\n".join(rows)


def costs(equations: Equations, parameters: list[str] | None) -> str:
    cost = equations.cost(parameters)
    rows = ["| | |", "|---|---|", f"| parameters | `{cost.parameters}` |"]
    rows += [f"| multiply-adds | `{cost.multiply_adds}` |", f"| parallel time | `{cost.depth}` |"]
    return "\n".join(rows)


def gradient(equations: Equations, options: dict) -> str:
    of = options.get("gradient") or equations.outputs[-1]
    return f"```{{math}}\n:nowrap:\n{equations.grad(of, options.get('wrt')).latex()}\n```"


def code(equations: Equations) -> str:
    return f'```python\nEquations("""\n{equations}\n""")\n```'


def setup(app: Sphinx) -> dict:
    app.add_directive("equation-card", EquationCard)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
