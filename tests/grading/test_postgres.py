"""The gradebook in a real PostgreSQL, started for the test and stopped at its end."""

import os
import pwd
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
import small_course as small

from coursekit.cli.bootstrap import find_postgres
from coursekit.grading.command import Options, run
from coursekit.grading.confine.limits import Limits
from coursekit.grading.gradebook.record import Record
from coursekit.grading.gradebook.tables import by_hand


def as_server(command: list[str], folder: Path) -> list[str]:
    """PostgreSQL does not run as root: then as another user, who owns the folder."""
    if os.geteuid() != 0:
        return command
    user = next((u for u in ("postgres", "nobody") if u in {p.pw_name for p in pwd.getpwall()}), None)
    assert user, "no user to run PostgreSQL as"
    shutil.chown(folder, user)
    return ["setpriv", f"--reuid={user}", "--clear-groups", *command]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
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
    yield f"postgresql+psycopg://grader@127.0.0.1:{port}/postgres"
    process.terminate()
    process.communicate(timeout=60)


def opened(url: str) -> Record:
    """The gradebook, as soon as the server answers."""
    import time

    from coursekit.grading.errors import GradingError

    for _ in range(100):
        try:
            return Record(url)
        except GradingError:
            time.sleep(0.3)
    return Record(url)


@pytest.mark.slow
def test_a_class_is_graded_into_postgresql_and_taken_up_again(server, tmp_path):
    with opened(server):
        pass  # the server answers
    course = small.write_course(tmp_path / "course", {"sums": {"sums": small.sums()}})
    for student, more in {"ada": {}, "Émilie 'x'; --": {"norm": "def norm(xs):\n    return '\\0'"}}.items():
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "sums.ipynb").write_bytes(
            small.saved(small.solved(small.sums(), **more))
        )
    options = Options(course, gradebook=server, limits=Limits(cell_cpu=5, cell_wall=10))
    first = run([tmp_path / "class"], options)
    assert {e.student: e.score for e in first.entries} == {"ada": 6, "Émilie 'x'; --": 3}, first.problems
    second = run([tmp_path / "class"], options)
    assert [e.seconds for e in second.entries] == [e.seconds for e in first.entries]
    with Record(server) as record:
        assert small.totals(record, "sums") == {"ada": 6, "Émilie 'x'; --": 3}
        assert by_hand(record.engine, "sums") == {}
