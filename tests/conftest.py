"""One real browser for every test that needs one; and the order in which several workers take the tests."""

import functools
import json
import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from environments import shared_folder
from filelock import FileLock
from processor import Processor

from coursekit.cli.bootstrap import find_browser

DURATIONS = Path(__file__).with_name(
    "durations.json"
)  # group of tests -> seconds, as `--store-durations` left them
QUICK = 3.0  # seconds; what took longer is slow, whether its author said so or not


def pytest_addoption(parser):
    parser.addoption(
        "--store-durations", action="store_true", help=f"keep how long each took in {DURATIONS.name}"
    )
    parser.addoption("--processor", action="store_true", help="print how much processor time each took")
    parser.addoption(
        "--screenshots", action="store_true", help="keep a picture of each page in _build/screenshots"
    )


def pytest_configure(config):
    if config.getoption("--processor"):
        config.pluginmanager.register(Processor(_group))


@pytest.hookimpl(tryfirst=True)  # before what is slow is left out
def pytest_collection_modifyitems(config, items):
    """What took long is slow. Workers take the longest first."""
    took = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
    count = Counter(_group(item.nodeid) for item in items)
    for item in items:
        name = _group(item.nodeid)
        if took.get(name, 0.0) / count[name] > QUICK or "html" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: -took.get(_group(item.nodeid), 0.0))


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return _group(nodeid)

    return ByGroup(config, log)


def _group(test: str) -> str:
    """Tests that share a fixture of their module stay with one worker, which makes it once; every other test may run
    anywhere."""
    path = test.partition("::")[0]
    return path if _shares(path) else test


@functools.cache
def _shares(path: str) -> bool:
    return 'scope="module"' in (Path(__file__).parent.parent / path).read_text(encoding="utf-8")


_took: dict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report):
    _took[_group(report.nodeid)] += report.duration


def pytest_sessionfinish(session):
    if session.config.getoption("--store-durations") and not hasattr(session.config, "workerinput"):
        known = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
        known = {n: s for n, s in known.items() if n not in _took and Path(n.partition("::")[0]).exists()}
        known |= {name: round(seconds, 1) for name, seconds in _took.items() if seconds >= 1}
        DURATIONS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


@pytest.fixture(scope="session")
def empty_gradebook(tmp_path_factory):
    """A new gradebook, to be copied: nbgrader takes seconds to make one, so it is made once for all workers."""
    from coursekit.grading.gradebook.record import Record

    folder = shared_folder(tmp_path_factory, "gradebook")
    with FileLock(folder / "lock"):
        if not (folder / "gradebook.db").exists():
            with Record(f"sqlite:///{folder / 'draft.db'}"):
                pass
            (folder / "draft.db").rename(folder / "gradebook.db")
    return folder / "gradebook.db"


@pytest.fixture(scope="session")
def browser():
    path = find_browser()
    if path is None:
        sentence = (
            "no Chromium was found: install one (Debian: `apt-get install chromium`) or set COURSEKIT_BROWSER"
        )
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    from playwright.sync_api import sync_playwright

    blocked = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"  # no other host is reached
    quiet = [
        blocked,
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=[*quiet, "--disable-sync", "--no-first-run"]
        )
        yield browser
        browser.close()
