"""The built book, served on loopback."""

import functools
import http.server
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

sys.path.insert(0, str(Path(__file__).parent))  # for `built`, which several tests share
ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items):
    """The first test that needs the book waits for all of it to be executed."""
    for item in items:
        if "html" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="session")
def html():
    """`_build/html`, built or brought up to date once, however many workers ask for it."""
    from coursekit.authoring.course import Course
    from coursekit.book.build import build

    (ROOT / "_build").mkdir(exist_ok=True)
    with FileLock(ROOT / "_build" / "book.lock"):
        return build(Course(ROOT).root)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def site(html):
    """The address of the book on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=html))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
