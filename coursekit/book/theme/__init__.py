"""A Sphinx extension: the whole of this package's book in one name, with its style, its scripts and its templates.

A course names it in its `_config.yml` and has no copy of anything. A file of the same name in the course's own
`book/_static` or `book/_templates` takes the place of the one here.
"""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).resolve().parent
PARTS = "execute formulas served notebooks reach cards questions live_pages reference"
STYLES = ("icons.css", "course.css", "live.css")
SCRIPTS = ("live.js", "page.js")
AS_NAMED = 800  # the order in which Sphinx takes what a configuration names


def static(root: Path) -> dict[str, Path]:
    """Every file that the pages of the course at `root` are served beside their own: name -> where it lies."""
    homes = (HERE / "static", root / "book" / "_static")
    return {str(p.relative_to(home)): p for home in homes for p in sorted(home.rglob("*")) if p.is_file()}


def _bring(app: Sphinx, config: Config) -> None:
    own = [p for p in ("book/_static", "book/_templates") if (Path(app.srcdir) / p).is_dir()]
    config.html_static_path = [str(HERE / "static"), *(p for p in own if p.endswith("static"))]
    config.templates_path = [*(p for p in own if p.endswith("templates")), str(HERE / "templates")]
    config.html_extra_path = ["_build/vendor"]


def setup(app: Sphinx) -> dict[str, str | bool]:
    for part in PARTS.split():
        app.setup_extension(f"coursekit.book.{part}")
    for sheet in STYLES:
        app.add_css_file(sheet, priority=AS_NAMED)
    for script in SCRIPTS:
        app.add_js_file(script, priority=AS_NAMED, defer="defer")
    app.connect("config-inited", _bring, priority=400)  # before Sphinx looks whether the folders are there
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
