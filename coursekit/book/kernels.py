"""Kernels that start warm: one process loads what is large, and every kernel is forked from it.

with warm_kernels("torch"):
    ...  # whoever starts the kernel "python3" here gets one that has loaded torch
"""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A kernel would set it as it starts, when matplotlib may have been loaded already.
BACKEND = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}


@contextmanager
def warm_kernels(*modules: str) -> Iterator[None]:
    """Within, the kernel `python3` is forked from a process that has loaded `modules`. It needs `fork`: Linux."""
    before = os.environ.get("JUPYTER_PATH")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "kernels" / "python3"
        home.mkdir(parents=True)
        address = str(Path(folder) / "kernels.sock")
        argv = [sys.executable, "-I", "-S", __file__, "kernel", address, "{connection_file}"]
        specification = {"argv": argv, "display_name": "Python 3", "language": "python"}
        (home / "kernel.json").write_text(json.dumps(specification))
        server = subprocess.Popen(
            [sys.executable, "-P", __file__, "serve", address, *modules],
            env={**os.environ, **BACKEND}, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert server.stdout is not None
        with server.stdout:
            try:
                if not server.stdout.readline():
                    raise RuntimeError("no kernel can be forked: the process that forks them ended")
                os.environ["JUPYTER_PATH"] = os.pathsep.join([folder, *([before] if before else [])])
                yield
            finally:
                if before is None:
                    os.environ.pop("JUPYTER_PATH", None)
                else:
                    os.environ["JUPYTER_PATH"] = before
                server.terminate()
                server.wait()


def serve(address: str, *modules: str) -> None:
    """Fork a kernel for whoever asks; tell them its number, and by the end of the connection that it has ended."""
    from ipykernel import kernelapp

    for module in modules:
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
            sys.path.insert(0, "")
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
    {"serve": serve, "kernel": be_kernel}[sys.argv[1]](*sys.argv[2:])
