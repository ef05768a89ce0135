"""A Sphinx extension: the pages' cells are run before Sphinx reads the pages, side by side, and never twice.

myst-nb keeps results under a page's code alone. Here a result also holds what it was made of, the files of the
course that the page's kernel imported or opened, and it is made again when one of these has changed.
"""

import ast
import asyncio
import hashlib
import os
import re
import sys
import time
from contextlib import nullcontext
from datetime import UTC
from itertools import count
from pathlib import Path
from typing import Any

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.read import create_nb_reader
from myst_nb.sphinx_ import SphinxEnvType
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.util import logging

from coursekit.book.kernels import warm_kernels

log = logging.getLogger(__name__)
PACKAGE = Path(__file__).resolve().parents[1]

# Said to a kernel before the first cell; nothing of it is left among the page's own names.
WATCH = """
def _watch():
    import os, sys
    opened = set()
    def hook(event, args):
        if event == "open" and isinstance(args[0], str):
            opened.add(args[0])
    def used():
        modules = [m for name, m in sys.modules.items() if name.split(".")[0] == "coursekit"]
        files = opened | {m.__file__ for m in modules if getattr(m, "__file__", None)}
        return "\\n".join(sorted(map(os.path.realpath, files)))
    sys.addaudithook(hook)
    sys._coursekit_used = used
_watch()
del _watch
"""
USED = "__import__('sys')._coursekit_used()"
# What most pages load, and nothing of the course: a page depends on what its own kernel loads of that.
LOADED = ("torch", "matplotlib.figure", "matplotlib.backends.backend_agg")

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ARROW = re.compile(r"^-+> *(\d+) (.*)", re.MULTILINE)


class Wrong(Exception):
    """A page cannot be right: its line, and what is wrong there."""


def bring_up_to_date(
    app: Sphinx, env: SphinxEnvType, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Run what has to be run, as many pages at a time as there are cores; name the pages that Sphinx must read again
    because their results are new."""
    if env.mystnb_config.execution_mode != "cache":
        return []
    root, timeout = Path(app.srcdir), env.mystnb_config.execution_timeout
    cache = get_cache(env.mystnb_config.execution_cache_path)
    due: dict[str, NotebookNode] = {}
    newer, failed = [], []
    for name in sorted(env.found_docs):
        notebook = read(env, name)
        if notebook is None:
            continue
        try:
            record = cache.match_cache_notebook(notebook)
        except KeyError:
            due[name] = notebook
            continue
        files = record.data.get("files")
        if files is None or any(digest(root / file) != known for file, known in files.items()):
            cache.remove_cache(record.pk)
            due[name] = notebook
        elif record.created.replace(tzinfo=UTC).timestamp() * 1e6 > env.all_docs.get(name, 0):
            newer.append(name)  # it was run, and then the build was stopped
    free, done = asyncio.Semaphore(len(os.sched_getaffinity(0))), count(1)

    async def one(name: str, notebook: NotebookNode) -> None:
        path = Path(env.doc2path(name))
        async with free:
            start = time.monotonic()
            try:
                files = await run_page(path, notebook, root, timeout)
                bundle = CacheBundleIn(notebook, str(path), data={"files": files})
                cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            except Wrong as wrong:
                line, complaint = wrong.args
                log.warning(complaint, location=(name, line))
                failed.append(path.as_posix())
        seconds = time.monotonic() - start
        log.info("running pages... [%3d%%] %s (%.1f s)", 100 * next(done) // len(due), name, seconds)

    async def all_of_them() -> None:
        await asyncio.gather(*(one(name, notebook) for name, notebook in due.items()))

    forked = len(due) > 1 and sys.platform == "linux"
    with warm_kernels(*LOADED) if forked else nullcontext():
        asyncio.run(all_of_them())
    # Or myst-nb would run them once more, one after the other.
    skip = [*env.mystnb_config.execution_excludepatterns, *failed]
    env.mystnb_config = env.mystnb_config.copy(execution_excludepatterns=skip)
    return [*newer, *due]


def read(env: SphinxEnvType, name: str) -> NotebookNode | None:
    """The page as myst-nb will read it, so that it finds our result; None for a page of text alone."""
    path = env.doc2path(name)
    text = Path(path).read_text(encoding="utf-8")
    reader = create_nb_reader(path, env.myst_config, env.mystnb_config, text)
    return reader.read(text) if reader else None


async def run_page(path: Path, notebook: NotebookNode, root: Path, timeout: int) -> dict[str, str]:
    """Run the page's cells in a kernel of its own, which fills in the notebook; the digests of the files it used."""
    cells = notebook.cells
    if not any(cell.cell_type == "code" for cell in cells):
        return {}
    lines = [line + 1 for line in notebook.metadata.get("source_map", range(len(cells)))]
    resources = {"metadata": {"path": str(path.parent)}}
    # A kernel's own warnings, about its transport, are no complaint about the page.
    quiet = ["--log-level=CRITICAL"]
    client = NotebookClient(
        notebook, timeout=timeout, resources=resources, extra_arguments=quiet, record_timing=False,
        coalesce_streams=True,  # a kernel may send a printed line in pieces, which myst-nb takes for lines
    )  # fmt: skip
    start, line = time.time(), 1
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # the parallelism is over pages
    try:
        async with client.async_setup_kernel(env=environment):
            kernel: Any = client.kc
            await kernel.execute(WATCH, silent=True, reply=True)
            for n, cell in enumerate(cells):
                line = lines[n]
                await client.async_execute_cell(cell, n, execution_count=client.code_cells_executed + 1)
            reply = await kernel.execute("", silent=True, user_expressions={"used": USED}, reply=True)
    except CellExecutionError as error:
        found = _ARROW.search(_COLOUR.sub("", error.traceback))
        place = f" in its line {found[1]}, `{found[2].strip()}`" if found else ""
        raise Wrong(line, f"the cell failed{place}: {error.ename}: {error.evalue}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise Wrong(line, f"the cell was not finished: {' '.join(str(error).split())[:300]}") from None
    for line, cell in zip(lines, cells, strict=False):
        if said := [o.text for o in cell.get("outputs", ()) if o.get("name") == "stderr"]:
            raise Wrong(line, f"the cell wrote to stderr: {' '.join(said).strip()}")
    used = ast.literal_eval(reply["content"]["user_expressions"]["used"]["data"]["text/plain"])
    ours = [path for path in map(Path, used.splitlines()) if _is_ours(path, root)]
    # A file that was changed meanwhile makes the page stale: nobody knows which of the two it used.
    return {
        os.path.relpath(path, root): "" if path.is_file() and path.stat().st_mtime > start else digest(path)
        for path in ours
    }


def _is_ours(path: Path, root: Path) -> bool:
    """A file of the package or of the course, and nothing that is built or installed there."""
    for home in (PACKAGE, root.resolve()):
        if path.is_relative_to(home):
            parts = path.relative_to(home).parts
            return not any(part.startswith((".", "__pycache__", "_build")) for part in parts)
    return False


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


COMPUTED = ("{equation-card}", "{question}", "{live-figure}", "{live-language}")
COMPUTING = ("coursekit.notation", "coursekit.book.card", "coursekit.book.live", "coursekit.book.questions")


def note_notation(app: Sphinx, doctree: object) -> None:
    """Sphinx itself computes the equation cards, questions and live figures: a page with one is read again when what
    computes it has changed."""
    text = Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8")
    if any(name in text for name in COMPUTED):
        for name, module in list(sys.modules.items()):
            if name.startswith(COMPUTING) and module.__file__:
                app.env.note_dependency(module.__file__)


def setup(app: Sphinx) -> None:
    app.connect("env-get-outdated", bring_up_to_date)
    app.connect("doctree-read", note_notation)
