"""What a submission can see and do, as root and as an ordinary user."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from ordinary import as_ordinary_user

from coursekit.grading import CannotGrade, Limits, Warm
from coursekit.grading.confine import landlock, namespaces, sandbox, seccomp
from coursekit.grading.run import forkserver

ROOT = Path(__file__).resolve().parents[2]

LOOK = """
import os, sys
def look():
    status = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)
    return {
        'user': os.getuid(), 'groups': os.getgroups(), 'pids': sorted(p for p in os.listdir('/proc') if p.isdigit()),
        'capabilities': [int(status[k], 16) for k in ('CapEff', 'CapPrm', 'CapInh', 'CapBnd', 'CapAmb')],
        'no_new_privs': status['NoNewPrivs'].strip(), 'seccomp': status['Seccomp'].strip(),
        'interfaces': sorted(line.split(':')[0].strip() for line in open('/proc/net/dev').read().splitlines()[2:]),
        'home': os.listdir('/home/student'), 'tmp': os.listdir('/tmp'), 'top': sorted(os.listdir('/')),
        'environment': sorted(os.environ), 'descriptors': sorted(map(int, os.listdir('/proc/self/fd'))),
        'writable': [p for p in ['/', '/usr', '/etc', '/dev', sys.prefix, '/home', '/tmp'] if os.access(p, os.W_OK)],
    }
"""


@pytest.fixture
def seen(grade_cells):
    outcome = grade_cells(("solution", LOOK), ("test", "look()"))
    assert outcome.tests[0].status == "passed", outcome
    return ast.literal_eval(outcome.tests[0].outputs[0].data)


def test_a_submission_is_alone_without_rights_or_network(seen):
    assert seen["user"] == namespaces.STUDENT
    assert seen["pids"] == ["1"]
    assert seen["capabilities"] == [0, 0, 0, 0, 0]
    assert seen["no_new_privs"] == "1"
    assert seen["seccomp"] == ("2" if seccomp.supported() else "0")
    assert set(seen["interfaces"]) <= {"lo", "sit0", "ip6tnl0", "tunl0"}


def test_a_submission_sees_an_empty_home_and_only_its_own_descriptors(seen):
    assert seen["home"] == []
    assert seen["tmp"] == []
    assert set(seen["descriptors"]) <= {0, 1, 2, 3, 4}
    assert set(seen["writable"]) <= {"/tmp", "/home"}


def test_the_environment_is_the_graders_own(seen):
    assert "COURSEKIT_TEST_SECRET" not in seen["environment"]
    assert not [
        name for name in seen["environment"] if name.startswith(("AWS", "SSH", "GIT", "USER", "VIRTUAL"))
    ]


def test_only_the_system_python_and_coursekit_are_visible(grade_cells):
    outcome = grade_cells(
        (
            "solution",
            f"import os\ndef listing(): return sorted(os.listdir({namespaces.moved(str(ROOT))!r}))",
        ),
        ("test", "listing()"),
    )
    allowed = {"coursekit", Path(sys.prefix).name}
    assert set(ast.literal_eval(outcome.tests[0].outputs[0].data)) <= allowed


def test_the_examiner_is_confined_too(grade_cells):
    outcome = grade_cells(("given", LOOK), ("test", "look()"))
    seen = ast.literal_eval(outcome.tests[0].outputs[0].data)
    assert seen["pids"] == ["1"]
    assert seen["capabilities"] == [0, 0, 0, 0, 0]
    assert "COURSEKIT_TEST_SECRET" not in seen["environment"]


def test_two_submissions_share_nothing(warm, task_of):
    leave = "import os\nopen('/tmp/left', 'w').write('x'); open('/dev/shm/left', 'w').write('x')\ndef f(): return 1"
    find = "import os\ndef f(): return os.listdir('/tmp') + os.listdir('/dev/shm') + os.listdir('.')"
    list(warm.grade([task_of(("solution", leave), ("test", "assert f() == 1"))]))
    (outcome,) = warm.grade([task_of(("solution", find), ("test", "assert f() == []"))])
    assert outcome.score == 1, outcome


def test_hidden_directories_are_empty_even_inside_python(task_of):
    secret = Path(os.__file__).parent / "json"  # stands for a course that lies inside Python's own tree
    with Warm(preload=[], hidden=[secret]) as warm:
        look = f"import os\ndef f(): return os.listdir({str(secret)!r})"
        (outcome,) = warm.grade([task_of(("solution", look), ("test", "assert f() == []"))])
    assert outcome.score == 1, outcome


def test_the_capabilities_of_this_system_are_told():
    found = sandbox.capabilities()
    assert found.enough, found.why
    assert set(found.parts) >= {"namespaces", "seccomp", "user"}


def test_grading_is_refused_where_nothing_confines(monkeypatch):
    nothing = sandbox.Capabilities(False, "there are no namespaces here")
    monkeypatch.setattr(sandbox, "capabilities", lambda: nothing)
    with pytest.raises(CannotGrade, match="there are no namespaces here"):
        Warm(preload=[]).start()


def test_unsafe_grades_all_the_same(monkeypatch, task_of):
    monkeypatch.setattr(sandbox, "capabilities", lambda: sandbox.Capabilities(False, "none"))
    with Warm(preload=[], unsafe=True) as warm:
        (outcome,) = warm.grade([task_of(("solution", "def f(): return 1"), ("test", "assert f() == 1"))])
    assert outcome.score == 1, outcome


def test_unsafe_submissions_write_into_folders_of_their_own_that_are_removed(monkeypatch, task_of):
    monkeypatch.setattr(sandbox, "capabilities", lambda: sandbox.Capabilities(False, "none"))
    writes = (
        "import os, tempfile\nhere = os.getcwd()\nread = open('given.txt').read()\n"
        "open('mine.txt', 'w').close()\nleft = sorted(os.listdir())\ntemporary = tempfile.gettempdir()"
    )
    holds = (
        "assert (read, left, temporary) == ('a', ['given.txt', 'mine.txt'], here)\nassert here != '/'\nhere"
    )
    tasks = [
        task_of(("solution", writes), ("test", holds), files={"given.txt": b"a"}, id=name) for name in "ab"
    ]
    with Warm(preload=[], unsafe=True) as warm:
        outcomes = list(warm.grade(tasks))
        assert [outcome.score for outcome in outcomes] == [1, 1]
        homes = {outcome.tests[0].outputs[0].data for outcome in outcomes}
        assert len(homes) == 2
    assert not os.path.exists(warm.scratch)


def test_every_refused_step_has_its_advice():
    for step in (1, 2, 3, 4):
        assert len(namespaces.advice(step)) > 40


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_decides_as_it_is_meant_to(machine):
    """The filter's bytes, run by a small interpreter of our own."""
    calls = ("ptrace", "read", "clone", "clone3", "socket", "mount", "unshare")
    known = {"x86_64": (101, 0, 56, 435, 41, 165, 272), "aarch64": (117, 63, 220, 435, 198, 40, 97)}
    numbers = dict(zip(calls, known[machine], strict=True))
    arch = seccomp.AUDIT[machine]

    def verdict(call: str, first: int = 0, architecture: int = arch, number: int | None = None) -> int:
        record = {0: numbers[call] if number is None else number, 4: architecture, 16: first}
        return interpret(seccomp.program(machine), record)

    allow, refuse = seccomp.ALLOW, seccomp.ERRNO | 1
    assert verdict("read") == allow
    assert [verdict(call) for call in ("ptrace", "mount", "unshare")] == [refuse] * 3
    assert verdict("clone", 17) == allow
    assert verdict("clone", 0x10000000 | 17) == refuse
    assert verdict("clone3") == seccomp.ERRNO | 38
    assert [verdict("socket", family) for family in (1, 2, 10)] == [allow] * 3
    assert [verdict("socket", family) for family in (0, 16, 17, 38, 40)] == [seccomp.ERRNO | 97] * 5
    assert verdict("read", architecture=0x40000003) == seccomp.KILL
    if machine == "x86_64":
        assert verdict("read", number=0x40000000 + 101) == refuse


def interpret(code: bytes, record: dict[int, int]) -> int:
    import struct

    lines = list(struct.iter_unpack("<HBBI", code))
    at = value = 0
    while True:
        op, yes, no, k = lines[at]
        at += 1
        if op == seccomp.LOAD:
            value = record.get(k, 0)
        elif op == seccomp.AND:
            value &= k
        elif op == seccomp.RETURN:
            return k
        else:
            true = {
                seccomp.EQUAL: value == k,
                seccomp.AT_LEAST: value >= k,
                seccomp.ANY_BIT: bool(value & k),
            }[op]
            at += yes if true else no


def test_a_gpus_device_files_are_in_the_plan_only_when_asked_for(tmp_path):
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null", "sda"):
        (tmp_path / name).touch()
    (tmp_path / "nvidia-caps").mkdir()
    (tmp_path / "nvidia-caps" / "nvidia-cap1").touch()
    found = [path.removeprefix(f"{tmp_path}/") for path in sandbox.device_files("cuda", str(tmp_path))]
    assert found == ["nvidia-caps/nvidia-cap1", "nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"]
    assert sandbox.device_files("", str(tmp_path)) == []
    assert sandbox.plan("cuda")["address_space"] is False
    assert sandbox.plan()["address_space"] is True


def test_a_python_beside_the_course_shows_only_its_own_directories(monkeypatch):
    """A virtual environment made in the course's own directory must not show the course."""
    monkeypatch.setattr(sys, "prefix", str(ROOT))
    assert str(ROOT) not in sandbox.visible_paths()
    assert not [
        path for path in sandbox.visible_paths() if path.endswith(("/solutions", "/notebooks", "/tests"))
    ]


GRADE_AS_USER = """
import os, sys
sys.path.insert(0, {root!r})
assert os.geteuid() != 0
from coursekit.grading import Cell, Task, Warm
look = {look!r} + '''
import os, signal
def kill():
    for pid in (0, -1):
        try: os.kill(pid, signal.SIGKILL)
        except OSError: pass
    return 1
'''
cells = [Cell(look, 'solution'), Cell('assert kill() == 1', 'test', 'a', 1)]
cells += [Cell('seen = look()\\nassert seen["pids"] == ["1"] and not any(seen["capabilities"])', 'test', 'b', 1)]
cells += [Cell('assert seen["user"] == 1000 and seen["home"] == []', 'test', 'c', 1)]
with Warm(preload=['numpy']) as warm:
    for _ in range(2):
        (outcome,) = warm.grade([Task('one', tuple(cells))])
        assert outcome.score == 3, outcome
print('graded as', os.geteuid())
"""


def test_an_ordinary_user_gets_the_same_sandbox():
    script = GRADE_AS_USER.format(root=str(ROOT), look=LOOK)
    done = subprocess.run(
        as_ordinary_user(script),
        capture_output=True, text=True, timeout=120, check=False, cwd="/",
    )  # fmt: skip
    expected = 65533 if os.geteuid() == 0 else os.geteuid()
    assert done.stdout.strip() == f"graded as {expected}", done.stderr


def test_a_course_below_tmp_or_home_keeps_its_python_in_sight(tmp_path):
    """What a submission sees as /tmp and /home is its own; a Python or a course that lies there must stay visible."""
    import shutil
    import subprocess
    import sys
    from pathlib import Path

    package = Path(__file__).resolve().parents[2] / "coursekit"
    copy = tmp_path / "a folder with spaces" / "coursekit"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = f"""
import sys
sys.path.insert(0, {str(copy.parent)!r})
import coursekit
assert coursekit.__file__.startswith({str(copy)!r}), coursekit.__file__
from coursekit.grading import Cell, Task, Warm
late = "import os\\ndef f():\\n    from coursekit.data import trees\\n    return trees.__file__, os.listdir('/tmp')"
test = "file, temporary = f()\\nassert 'trees' in file and temporary == []"
cells = (Cell(late, "solution", "f"), Cell(test, "test", "t", 1.0))
with Warm(preload=[]) as warm:
    (outcome,) = warm.grade([Task("one", cells)])
print(outcome.tests[0].status)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert done.stdout.split() == ["passed"], done.stderr[-2000:]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_of_the_second_level_leaves_threads_and_nobody_else(machine):
    column = {"x86_64": 0, "aarch64": 1}[machine]
    code, arch, me = seccomp.program(machine, alone=4711), seccomp.AUDIT[machine], 4711
    refuse, pretend, thread = seccomp.ERRNO | 1, seccomp.ERRNO, seccomp.CLONE_THREAD

    def verdict(numbers: tuple[int, int], *arguments: int) -> int:
        given = {16 + 8 * at: value for at, value in enumerate(arguments)}
        return interpret(code, {0: numbers[column], 4: arch, **given})

    assert verdict((0, 63)) == seccomp.ALLOW  # read
    assert [verdict((56, 220), flags) for flags in (17, 17 | thread)] == [refuse, seccomp.ALLOW]  # clone
    assert [verdict((59, 221)), verdict((41, 198), 2), verdict((112, 157))] == [
        refuse
    ] * 3  # execve, socket, setsid
    assert [verdict((62, 129), pid) for pid in (me, 0, 1, 2**32 - 1)] == [seccomp.ALLOW] * 2 + [
        refuse
    ] * 2  # kill
    assert verdict((268, 53)) == pretend  # fchmodat
    assert verdict((285, 47)) == seccomp.ERRNO | 95  # fallocate
    assert [verdict((257, 56), 0, 0, flags) for flags in (0o1000, 0o1001)] == [
        refuse,
        seccomp.ALLOW,
    ]  # openat
    assert verdict((463, 463)) == seccomp.ERRNO | 38


SEES = """
import os, sys, tempfile, threading
def tried(work):
    try: work(); return True
    except (OSError, ImportError): return False
def look(course):
    done = []
    thread = threading.Thread(target=done.append, args=(1,)); thread.start(); thread.join()
    status = open('/proc/self/status').read()
    return {
        'thread': done == [1], 'caps': status.split('CapEff:')[1].split()[0].strip('0'),
        'home': os.listdir('.'), 'mine': tried(lambda: open('mine', 'w').close()),
        'temporary': tried(lambda: tempfile.NamedTemporaryFile().close()),
        'course': tried(lambda: os.listdir(course)), 'tests': tried(lambda: open(course + '/pyproject.toml')),
        'root': tried(lambda: os.listdir('/')), 'others': tried(lambda: os.listdir('/proc/1/fd')),
        'import': tried(lambda: __import__('wave')),
        'above': tried(lambda: os.listdir('..')), 'fork': tried(os.fork), 'user': os.getuid(),
    }
"""


def test_the_second_level_shows_a_submission_its_home_and_nothing_of_the_course(task_of):
    if sandbox.capabilities().parts.get("landlock") != "yes":
        pytest.skip(f"no second level here: {sandbox.capabilities().parts.get('landlock')}")
    tasks = [task_of(("solution", SEES), ("test", f"look({str(ROOT)!r})"), id=name) for name in "abc"]
    with Warm(preload=["numpy"], jobs=2, level="landlock") as warm:
        outcomes = list(warm.grade(tasks))
        scratch = warm.scratch
    assert not os.path.exists(scratch)
    users = set()
    for outcome in outcomes:
        assert outcome.level == "landlock"
        seen = ast.literal_eval(outcome.tests[0].outputs[0].data)
        users.add(seen.pop("user"))
        can = {name for name, answer in seen.items() if answer is True}
        assert can == {"thread", "mine", "temporary", "import"}, seen
        assert (seen["caps"], seen["home"]) == ("", [])
    assert os.geteuid() not in users or os.geteuid() != 0


def test_an_ordinary_user_gets_the_second_level_too():
    script = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from coursekit.grading import Cell, Task, Warm
cells = [Cell({SEES!r}, 'solution'), Cell("seen = look('/root')\\nassert not any(seen[k] for k in "
         "('course', 'tests', 'root', 'others', 'above', 'fork', 'caps'))\\nassert seen['mine']", 'test', 'a', 1)]
with Warm(preload=['numpy'], level='landlock') as warm:
    (outcome,) = warm.grade([Task('one', tuple(cells))])
    assert outcome.score == 1, outcome
print('graded at', outcome.level)
"""
    done = subprocess.run(
        as_ordinary_user(script), capture_output=True, text=True, timeout=120, check=False, cwd="/"
    )
    assert done.stdout.strip() == "graded at landlock", done.stderr


def test_a_folder_that_cannot_be_listed_hides_nothing_and_holds_nobody_up():
    """Its owner may write into it; whoever counts, or removes what is left, may be no more than its owner."""
    script = f"""
import os, subprocess, sys, time
sys.path.insert(0, {str(ROOT)!r})
from coursekit.grading import Cell, Limits, Task, Warm
hides = '''
import os, time
for n in range(1000):
    os.mkdir(f"{{n:0100}}", 0o300); open(f"{{n:0100}}/x", "wb").write(bytes(1 << 17))
time.sleep(2)
'''
cells = [Cell(hides, 'extra'), Cell('def f(): return 1', 'solution'), Cell('assert f() == 1', 'test', 'a', 1)]
with Warm(preload=[], level='landlock', limits=Limits(disk=4)) as warm:
    (outcome,) = warm.grade([Task('one', tuple(cells))])
    children = ['ps', '--ppid', str(warm.process.pid), '-o', 'stat=,comm=']
    def removing():
        shown = subprocess.run(children, capture_output=True, text=True).stdout.splitlines()
        return [line for line in shown if line.endswith(' rm') and line[0] != 'Z']
    until = time.monotonic() + 30
    while removing() and time.monotonic() < until: time.sleep(0.1)
    assert not removing()
assert not os.path.exists(warm.scratch)
print(outcome.cells[0].status, outcome.score)
"""
    done = subprocess.run(
        as_ordinary_user(script), capture_output=True, text=True, timeout=120, check=False, cwd="/"
    )
    assert done.stdout.split() == ["died", "1"], done.stderr


def test_a_level_that_is_not_there_is_refused_in_a_sentence(monkeypatch):
    only = sandbox.Capabilities(
        True, "", {"namespaces": "yes", "landlock": "this kernel has none"}, "namespaces"
    )
    monkeypatch.setattr(sandbox, "capabilities", lambda: only)
    with pytest.raises(CannotGrade, match="this kernel has none"):
        Warm(preload=[], level="landlock").start()


def test_a_python_behind_a_link_that_only_root_may_follow_is_shown_where_it_lies(tmp_path, monkeypatch):
    """A virtual environment that is a link in root's home: another user reaches what it leads to, not the link."""
    there, closed = tmp_path / "there", tmp_path / "closed"
    (there / "lib").mkdir(parents=True)
    (closed / "own").mkdir(parents=True)
    (closed / "venv").symlink_to(there)
    closed.chmod(0o700)
    # pytest's own, which are closed to others: under a worker there is one more
    for folder in (path for path in (tmp_path, *tmp_path.parents) if "pytest-" in str(path)):
        folder.chmod(folder.stat().st_mode | 0o011)
    monkeypatch.setattr(landlock.namespaces, "follow", lambda moved: None)
    options = {
        "shown": [str(closed / "venv" / "lib"), str(closed / "own")],
        "held": [],
        "package": str(there),
    }
    landlock.hold_where_only_root_may_pass(options)
    try:
        (held,) = options["held"]
        assert options["shown"] == [str(there / "lib"), f"/proc/self/fd/{held}"]
    finally:
        for descriptor in options["held"]:
            os.close(descriptor)


def test_no_submission_runs_as_root_when_no_user_number_is_left(tmp_path, monkeypatch):
    """As root, without namespaces, each process has a number of its own; the one too many is not run."""
    ours, theirs = socket.socketpair()
    for name in ("signal", "set_wakeup_fd"):  # a warm parent's, which this process is not
        monkeypatch.setattr(forkserver.signal, name, lambda *_, **__: None)
    monkeypatch.setattr(forkserver, "unused_users", lambda count: [60_001])
    server = forkserver.Server(ours, {"level": "landlock", "scratch": str(tmp_path)})
    server.users.clear()
    server._fork(1, "candidate", asdict(Limits()), theirs.fileno())
    assert not server.children
    assert not list(tmp_path.iterdir())
    for end in (ours, theirs):
        end.close()


def test_the_second_level_imports_what_was_not_imported_ahead(task_of):
    """The package is shown room by room, so that it cannot be listed: Python must find its modules all the same."""
    if sandbox.capabilities().parts.get("landlock") != "yes":
        pytest.skip(f"no second level here: {sandbox.capabilities().parts.get('landlock')}")
    cells = [
        ("given", "from coursekit import data"), ("solution", "from coursekit import train\nx = data.__name__"),
        ("test", "assert x == data.__name__ == 'coursekit.data'"),
    ]  # fmt: skip
    with Warm(preload=["numpy"], level="landlock") as warm:
        (outcome,) = warm.grade([task_of(*cells)])
    assert outcome.score == 1, (outcome.tests, outcome.cells, outcome.log)
