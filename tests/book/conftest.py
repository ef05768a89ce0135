"""The built book, served on loopback."""

import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from environments import shared_folder
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items):
    """The first test that needs the book waits for all of it to be executed."""
    for item in items:
        if "html" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="session")
def html(tmp_path_factory):
    """`_build/html`, built or brought up to date by the first worker that asks for it: where nothing is to be done,
    Sphinx needs seconds to find that out."""
    from coursekit.authoring.course import Course
    from coursekit.book.build import build

    where = shared_folder(tmp_path_factory, "book") / "html"
    (ROOT / "_build").mkdir(exist_ok=True)
    with FileLock(ROOT / "_build" / "book.lock"):
        if not where.exists():
            where.write_text(str(build(Course(ROOT).root)))
    return Path(where.read_text())


@pytest.fixture(scope="session")
def site(html):
    """The address of the book on this machine."""
    with served(html) as where:
        yield where


@contextmanager
def served(folder):
    """The address of a folder, as `coursekit book --serve` gives it."""
    from coursekit.book.build import address, server

    running = server(folder)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield address(running)
    running.shutdown()
