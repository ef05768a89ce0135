"""One warm parent for all tests of the grader's core."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from coursekit.grading import Cell, Limits, Outcome, Task, Warm

SMALL = Limits(
    cell_cpu=1.0, cell_wall=2.0, notebook_wall=30.0, memory=256, processes=16, files=64, disk=16, grace=0.5
)


@pytest.fixture(scope="session")
def warm():
    os.environ["COURSEKIT_TEST_SECRET"] = (
        "a secret of the instructor's"  # the warm parent must not pass this on
    )
    with Warm(jobs=2, limits=SMALL) as running:
        yield running


@pytest.fixture(scope="session")
def grade_cells(warm):
    """Grade cells given as (role, source) or (role, source, {more}); a test is worth one point."""

    def run(*cells: tuple, limits: Limits | None = None, files: dict | None = None) -> Outcome:
        return next(iter(warm.grade([make_task(*cells, limits=limits, files=files)])))

    return run


@pytest.fixture(scope="session")
def task_of():
    return make_task


def make_task(
    *cells: tuple, limits: Limits | None = None, files: dict | None = None, id: str = "one"
) -> Task:
    made = []
    for number, (role, source, *more) in enumerate(cells):
        options = {
            "points": 1.0 if role == "test" else 0.0,
            "id": f"{role}{number}",
            **(more[0] if more else {}),
        }
        made.append(Cell(source, role, **options))
    return Task(id, tuple(made), limits, files=files or {})


def as_server(command: list[str], folder: Path) -> list[str]:
    """PostgreSQL does not run as root: then as another user, who owns the folder."""
    if os.geteuid() != 0:
        return command
    user = next((u for u in ("postgres", "nobody") if u in {p.pw_name for p in pwd.getpwall()}), None)
    assert user, "no user to run PostgreSQL as"
    shutil.chown(folder, user)
    return ["setpriv", f"--reuid={user}", "--clear-groups", *command]


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """A real PostgreSQL for the tests of this worker: a function that gives the URL of a new database in it."""
    from coursekit.cli.bootstrap import find_postgres

    programs = find_postgres()
    assert programs, "no PostgreSQL: install the package postgresql"
    folder = tmp_path_factory.mktemp("postgres")
    for parent in [folder, *folder.parents]:  # another user must be able to reach it
        if parent.owner() == folder.owner() and parent != Path(parent.root):
            parent.chmod(parent.stat().st_mode | 0o011)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    data.mkdir()
    initdb = [f"{programs}/initdb", "-D", str(data), "-U", "grader", "-A", "trust", "-E", "UTF8", "--no-sync"]
    done = subprocess.run(as_server(initdb, data), capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    options = [
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        f"port={port}",
        "-c",
        "unix_socket_directories=",
        "-F",
    ]
    process = subprocess.Popen(
        as_server([f"{programs}/postgres", "-D", str(data), *options], data),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/",
    )  # fmt: skip
    url = f"postgresql+psycopg://grader@127.0.0.1:{port}/"
    yield lambda name: _new_database(url, name)
    process.send_signal(signal.SIGINT)  # it closes what is open, and does not wait for it
    process.communicate(timeout=60)


def _new_database(url: str, name: str) -> str:
    """Made as soon as the server answers."""
    for _ in range(100):
        try:
            engine = create_engine(f"{url}postgres", isolation_level="AUTOCOMMIT", poolclass=NullPool)
            with engine.connect() as connection:
                connection.execute(text(f"create database {name}"))
            return f"{url}{name}"
        except OperationalError:
            time.sleep(0.3)
    raise AssertionError("PostgreSQL did not answer in 30 s")
