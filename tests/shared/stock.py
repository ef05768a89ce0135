"""Stock nbgrader over several assignments, in one process; its kernels are forked from one that has loaded torch.

nbgrader's own program starts anew for each assignment, and a kernel for each notebook: most of their time is spent on
importing. What is measured here is what nbgrader does, and that is the same: its API, its converters, its kernels.

    run_stock(course, [("generate_assignment", "bptt"), ("autograde", "bptt", "ada")], url, "torch coursekit.checks")
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

KERNEL = ["{python}", "-I", "-S", __file__, "kernel", "{socket}", "{connection_file}"]


def run_stock(course: Path, steps: Iterable[tuple[str, ...]], url: str, warm: str = "") -> None:
    """`steps`: what is called of nbgrader's API, with what; `warm`: the modules that kernels have loaded already."""
    scripts = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]  # nbgrader calls alembic
    environment = {**os.environ, "PATH": scripts, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, __file__, "steps", json.dumps(list(steps)), url, warm],
        cwd=course, env=environment, capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def take_steps(steps: str, url: str, warm: str) -> None:
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "kernels" / "python3"
        home.mkdir(parents=True)
        address = str(Path(folder) / "kernels.sock")
        argv = [word.replace("{python}", sys.executable).replace("{socket}", address) for word in KERNEL]
        (home / "kernel.json").write_text(
            json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"})
        )
        os.environ["JUPYTER_PATH"] = folder
        server = subprocess.Popen([sys.executable, __file__, "serve", address, warm], stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            assert server.stdout.readline(), "no kernel can be forked"
            config = PyFileConfigLoader("nbgrader_config.py").load_config()
            config.CourseDirectory.db_url = url
            api = NbGraderAPI(CourseDirectory(config=config), config=config)
            for call, *given in json.loads(steps):
                done = getattr(api, call)(*given)
                assert done["success"], (done["error"], done["log"])
        finally:
            server.terminate()
            server.wait()


def serve(address: str, warm: str) -> None:
    """Fork a kernel for whoever asks; tell them its number, and by the end of the connection that it has ended."""
    from ipykernel import kernelapp

    for module in warm.split():
        importlib.import_module(module)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        kernels: set[int] = set()
        while True:
            asking, _ = listening.accept()
            kernels = {pid for pid in kernels if os.waitpid(pid, os.WNOHANG) == (0, 0)}
            wanted = json.loads(asking.makefile().readline())
            if pid := os.fork():
                kernels.add(pid)
                asking.sendall(f"{pid}\n".encode())
                asking.close()
                continue
            listening.close()
            os.environ.clear()
            os.environ.update(wanted["environment"])
            os.chdir(wanted["folder"])
            sys.argv = ["ipykernel_launcher", "-f", *wanted["words"]]
            sys.path[0] = ""
            kernelapp.launch_new_instance()
            os._exit(0)


def be_kernel(address: str, *words: str) -> None:
    """Stand for a kernel that is forked elsewhere: end when it ends, hand it the signals that it should get."""
    # The kernel's parent is the one that forked it: else it would think that its own had ended.
    environment = {name: value for name, value in os.environ.items() if name != "JPY_PARENT_PID"}
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(address)
        wanted = {"words": words, "folder": os.getcwd(), "environment": environment}
        asking.sendall(json.dumps(wanted).encode() + b"\n")
        answer = asking.makefile()
        kernel = int(answer.readline())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(kernel, number))
        answer.read()


if __name__ == "__main__":
    {"steps": take_steps, "serve": serve, "kernel": be_kernel}[sys.argv[1]](*sys.argv[2:])
