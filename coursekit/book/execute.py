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
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
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

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ARROW = re.compile(r"^-+> *(\d+) (.*)", re.MULTILINE)


@dataclass
class Page:
    """A page with code: its text as a notebook, and after its run what it used and what went wrong where."""

    name: str
    path: Path
    notebook: NotebookNode
    files: dict[str, str]
    complaint: str = ""
    line: int = 1


def bring_up_to_date(
    app: Sphinx, env: SphinxEnvType, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Run what has to be run; name the pages that Sphinx must read again because their results are new."""
    if env.mystnb_config.execution_mode != "cache":
        return []
    root = Path(app.srcdir)
    cache = get_cache(env.mystnb_config.execution_cache_path)
    pages, newer = [], []

    def keep(page: Page) -> None:
        bundle = CacheBundleIn(page.notebook, str(page.path), data={"files": page.files})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)

    for name in sorted(env.found_docs):
        notebook = read(env, name)
        if notebook is None:
            continue
        page = Page(name, Path(env.doc2path(name)), notebook, {})
        try:
            record = cache.match_cache_notebook(notebook)
        except KeyError:
            pages.append(page)
            continue
        files = record.data.get("files")
        if files is None or any(digest(root / file) != known for file, known in files.items()):
            cache.remove_cache(record.pk)
            pages.append(page)
        elif record.created.replace(tzinfo=UTC).timestamp() * 1e6 > env.all_docs.get(name, 0):
            newer.append(name)  # it was run, and then the build was stopped
    run(pages, root, env.mystnb_config.execution_timeout, keep)
    failed = [page for page in pages if page.complaint]
    for page in failed:
        log.warning(page.complaint, location=(page.name, page.line))
    # Or myst-nb would run them once more, one after the other.
    skip = [*env.mystnb_config.execution_excludepatterns, *(page.path.as_posix() for page in failed)]
    env.mystnb_config = env.mystnb_config.copy(execution_excludepatterns=skip)
    return newer + [page.name for page in pages]


def read(env: SphinxEnvType, name: str) -> NotebookNode | None:
    """The page as myst-nb will read it, so that it finds our result; None for a page of text alone."""
    path = env.doc2path(name)
    text = Path(path).read_text(encoding="utf-8")
    reader = create_nb_reader(path, env.myst_config, env.mystnb_config, text)
    return reader.read(text) if reader else None


def run(pages: list[Page], root: Path, timeout: int, keep: Callable[[Page], None]) -> None:
    """Run the pages, as many at a time as there are cores; `keep` is given each that went well."""
    done = 0
    free = asyncio.Semaphore(len(os.sched_getaffinity(0)))

    async def one(page: Page) -> None:
        nonlocal done
        async with free:
            start = time.monotonic()
            await run_page(page, root, timeout)
        if not page.complaint:
            keep(page)
        done += 1
        seconds = time.monotonic() - start
        log.info("running pages... [%3d%%] %s (%.1f s)", 100 * done // len(pages), page.name, seconds)

    async def all_of_them() -> None:
        await asyncio.gather(*(one(page) for page in pages))

    asyncio.run(all_of_them())


async def run_page(page: Page, root: Path, timeout: int) -> None:
    """Run the page's cells in a kernel of its own; fill in the notebook, `files`, and the complaint if one is due."""
    cells = page.notebook.cells
    if not any(cell.cell_type == "code" for cell in cells):
        return
    lines = [line + 1 for line in page.notebook.metadata.get("source_map", range(len(cells)))]
    resources = {"metadata": {"path": str(page.path.parent)}}
    # A kernel's own warnings, about its transport, are no complaint about the page.
    quiet = ["--log-level=CRITICAL"]
    client = NotebookClient(
        page.notebook, timeout=timeout, resources=resources, extra_arguments=quiet, record_timing=False,
        coalesce_streams=True,  # a kernel may send a printed line in pieces, which myst-nb takes for lines
    )  # fmt: skip
    start = time.time()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # the parallelism is over pages
    try:
        async with client.async_setup_kernel(env=environment):
            kernel: Any = client.kc
            await kernel.execute(WATCH, silent=True, reply=True)
            for n, cell in enumerate(cells):
                page.line = lines[n]
                await client.async_execute_cell(cell, n, execution_count=client.code_cells_executed + 1)
            reply = await kernel.execute("", silent=True, user_expressions={"used": USED}, reply=True)
    except CellExecutionError as error:
        page.complaint = f"the cell failed{_place(error.traceback)}: {error.ename}: {error.evalue}"
        return
    except (CellTimeoutError, DeadKernelError) as error:
        page.complaint = f"the cell was not finished: {' '.join(str(error).split())[:300]}"
        return
    used = ast.literal_eval(reply["content"]["user_expressions"]["used"]["data"]["text/plain"])
    ours = [path for path in map(Path, used.splitlines()) if _is_ours(path, root)]
    # A file that was changed meanwhile makes the page stale: nobody knows which of the two it used.
    page.files = {
        os.path.relpath(path, root): "" if path.is_file() and path.stat().st_mtime > start else digest(path)
        for path in ours
    }
    for n, cell in enumerate(cells):
        said = [o.text for o in cell.get("outputs", ()) if o.output_type == "stream" and o.name == "stderr"]
        if said:
            page.line, page.complaint = lines[n], f"the cell wrote to stderr: {' '.join(said).strip()}"
            return


def _place(traceback: str) -> str:
    """In which line of the cell, and its text, out of IPython's traceback."""
    found = _ARROW.search(_COLOUR.sub("", traceback))
    return f" in its line {found[1]}, `{found[2].strip()}`" if found else ""


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
