"""Stock nbgrader and its formgrader on this repository, after `coursekit release`.

nbgrader release_assignment bptt    puts it where students fetch it: nbgrader list, fetch, submit
nbgrader collect bptt
nbgrader autograde bptt             grades submitted/<student>/bptt/bptt.ipynb
nbgrader generate_feedback bptt
nbgrader export
jupyter lab                         the formgrader is in its Nbgrader menu
"""

import os
from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader defines it)
root = Path(__file__).resolve().parent

c.CourseDirectory.root = str(root)
c.CourseDirectory.course_id = "language-models-by-hand"
c.CourseDirectory.source_directory = "_build/source"
c.CourseDirectory.release_directory = "_build/release"
c.CourseDirectory.db_url = f"sqlite:///{root}/gradebook.db"

# The exchange is a folder that every student of the machine must reach: on a shared one, name it in NBGRADER_EXCHANGE.
exchange = Path(os.environ.get("NBGRADER_EXCHANGE", root / "_build" / "exchange"))
c.Exchange.root = str(exchange)
if not exchange.exists():
    exchange.mkdir(parents=True)
    exchange.chmod(0o777)

c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\n..."}  # a cell without an answer runs

# A student's notebook comes back from Colab with new ids and without a kernel that this machine has.
c.ExecutePreprocessor.kernel_name = "python3"
c.ExecutePreprocessor.timeout = 120


def formulas_without_another_host(home: Path) -> None:
    """Give the formgrader's pages the MathJax that is installed here, in place of one from elsewhere."""
    from coursekit.book.vendor import mathjax

    script = (mathjax() / "tex-svg-full.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
    settings = (
        "window.MathJax = {tex: {inlineMath: [['$', '$'], ['\\\\(', '\\\\)']], processEscapes: true}, "
        "svg: {fontCache: 'none'}, options: {enableMenu: false}};"
    )
    text = f"<script>{settings}</script><script>{script}</script>"
    home.mkdir(parents=True, exist_ok=True)
    macro = "{%- macro mathjax(url='') -%}{% raw %}" + text + "{% endraw %}{%- endmacro %}\n"
    (home / "mathjax.html.j2").write_text(macro, encoding="utf-8")


templates = root / "_build" / "formgrader"
try:
    import nbgrader

    if not (templates / "base" / "mathjax.html.j2").exists():
        formulas_without_another_host(templates / "base")
    theirs = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader" / "templates"
    c.HTMLExporter.extra_template_basedirs = [str(templates), str(theirs)]
except Exception as error:  # without the tested set's MathJax, formulas stay as they were typed
    print(f"The formgrader will show formulas as TeX: {error}")
