"""A course's `nbgrader_config.py`: another's is read as data, for it is code, and the grader does not run it; ours is
written once, here, so that stock nbgrader and its formgrader work after a release."""

import ast
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbgrader
from traitlets.config import Config

from ..files import write

MATHJAX = (
    "window.MathJax = {tex: {inlineMath: [['$', '$'], ['\\\\(', '\\\\)']], processEscapes: true}, "
    "svg: {fontCache: 'none'}, options: {enableMenu: false}};"
)


def settings(path: Path) -> Config:
    """The plain settings of the file (`c.ClearSolutions.code_stub = {...}`); what is computed is left out."""
    config = Config()
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return config
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            names = ast.unparse(node.targets[0]).split(".")
            if len(names) == 3 and names[0] == "c" and all(map(str.isidentifier, names)):
                with suppress(ValueError):  # computed: the default stands
                    config[names[1]][names[2]] = ast.literal_eval(node.value)
    return config


def configure(config: Any, root: Path) -> None:
    """Fill in what nbgrader's configuration has for every course of ours, here for the one at `root`."""
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.db_url = os.environ.get("COURSEKIT_GRADEBOOK", f"sqlite:///{root}/gradebook.db")
    # The exchange is a folder that every student of the machine must reach: on a shared one, name it.
    exchange = Path(os.environ.get("NBGRADER_EXCHANGE", root / "_build" / "exchange"))
    config.Exchange.root = str(exchange)
    if not exchange.exists():
        exchange.mkdir(parents=True)
        exchange.chmod(0o777)
    config.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\n..."}  # a cell without an answer runs
    # A student's notebook comes back from Colab with new ids and without a kernel that this machine has.
    config.ExecutePreprocessor.kernel_name = "python3"
    config.ExecutePreprocessor.timeout = 120
    templates = root / "_build" / "formgrader"
    theirs = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader" / "templates"
    macro = templates / "base" / "mathjax.html.j2"
    try:
        if not macro.exists():  # its pages get the MathJax that is installed here, and none from elsewhere
            from ..book.vendor import mathjax

            script = (mathjax() / "tex-svg-full.js").read_text(encoding="utf-8")
            script = script.replace("</script", "<\\/script")
            text = f"<script>{MATHJAX}</script><script>{script}</script>"
            write(macro, "{%- macro mathjax(url='') -%}{% raw %}" + text + "{% endraw %}{%- endmacro %}\n")
        config.HTMLExporter.extra_template_basedirs = [str(templates), str(theirs)]
    except Exception as error:  # noqa: BLE001 - nbgrader must start, whatever is missing
        sys.stderr.write(f"The formgrader will show formulas as TeX: {error}\n")
