"""Setting up fails early, in one sentence, on a machine where it could not end well."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coursekit.cli import bootstrap

ROOT = Path(__file__).resolve().parent.parent


def test_an_old_python_is_told_so_in_one_sentence(capsys):
    with pytest.raises(SystemExit):
        bootstrap.check_machine(version=(3, 9, 1), free=10**12)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Python 3.9 is too old" in said


def test_a_full_disk_is_told_so_in_one_sentence(capsys):
    with pytest.raises(SystemExit):
        bootstrap.check_machine(free=10**8)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "disk is too full" in said


def test_a_good_machine_passes():
    bootstrap.check_machine(version=(3, 11, 0), free=10**12)


def test_old_pythons_can_read_the_set_up():
    """An old Python must get as far as the sentence: no syntax newer than 3.6, no future import."""
    text = (ROOT / "coursekit" / "cli" / "bootstrap.py").read_text()
    compile(text, "bootstrap.py", "exec")
    assert "from __future__" not in text
    for name in ("python3.9", "python3.8", "python3.7"):
        old = shutil.which(name)
        if old and subprocess.run([old, "-c", "pass"], capture_output=True).returncode == 0:
            done = subprocess.run(
                [old, ROOT / "coursekit" / "cli" / "bootstrap.py"], capture_output=True, text=True
            )
            assert done.returncode == 1
            assert "is too old" in done.stderr
            assert done.stderr.count("\n") == 1


def test_a_browser_that_is_not_there_is_not_found(monkeypatch):
    monkeypatch.setenv("COURSEKIT_BROWSER", "/no/such/browser")
    assert bootstrap.find_browser() is None


def test_the_command_says_what_it_needs():
    done = subprocess.run([sys.executable, "-m", "coursekit", "--help"], capture_output=True, text=True)
    for command in ("book", "release", "check", "grade", "report", "export", "doctor"):
        assert command in done.stdout


def test_doctor_proves_what_work_for_a_gpu_is_graded_on(tmp_path):
    import torch

    done = subprocess.run(
        [sys.executable, "-m", "coursekit", "doctor", "--device"], capture_output=True, text=True
    )
    told = {line.split()[1]: line for line in done.stdout.splitlines()}
    where = "cuda" if torch.cuda.is_available() else "cpu"
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("proved  ") == 2, done.stdout
    assert f"a tensor made on `cuda` is on the {where}" in done.stdout
    assert ("its path is not proved" in told["GPU"]) == (where == "cpu")
    assert "behind" in told["confined"]


def test_doctor_says_which_proof_of_the_device_failed(monkeypatch):
    from coursekit.cli import doctor

    monkeypatch.setattr(doctor, "ANSWER", doctor.ANSWER.replace("W @ x", "W.T @ x"))
    found = {finding.part.strip(): finding for finding in doctor.examine_device()}
    assert not found["failed"].ok
    assert "a product there" in found["failed"].text


def test_doctor_names_every_part_of_the_machine():
    done = subprocess.run([sys.executable, "-m", "coursekit", "doctor"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for part in ("Python", "torch", "device", "sandbox", "browser", "gradebook"):
        assert part in done.stdout


def test_a_command_outside_a_course_fails_with_one_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "coursekit", "release"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "is not inside a course" in done.stderr
    assert "Traceback" not in done.stderr
