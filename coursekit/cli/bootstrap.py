"""Set up `.venv` with the tested versions. Run by `make`, with whatever Python the machine has.

Only the standard library, and only syntax that an old Python can read: the first thing this file
does for a user may be to say that their Python is too old.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(HERE, ".venv")
OLDEST = (3, 11)
NEED_BYTES = 4 * 10**9


def stop(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
    raise SystemExit(1)


def check_machine(version: "tuple[int, ...]" = sys.version_info[:3], free: "int | None" = None) -> None:
    """Refuse, in one sentence, a machine on which the set-up could not end well."""
    if tuple(version[:2]) < OLDEST:
        words = "Python {}.{} is too old: the course needs {}.{} or later; install one, and `make PYTHON=python3.11 …`."
        stop(words.format(*(tuple(version[:2]) + OLDEST)))
    free = shutil.disk_usage(HERE).free if free is None else free
    if free < NEED_BYTES:
        words = "The disk is too full: {:.1f} GB are free here, the set-up needs {:.0f} GB; free some and run it again."
        stop(words.format(free / 1e9, NEED_BYTES / 1e9))


def python() -> str:
    return os.path.join(VENV, "Scripts" if os.name == "nt" else "bin", "python")


def run(*command: str) -> int:
    return subprocess.call(list(command), cwd=HERE)


def install_pinned(pip: "list[str]") -> bool:
    """Install the pinned set as it stands, in two halves side by side: most of pip's time is its own reckoning. False
    where that was not all, as on a machine whose torch wants more than is pinned: then pip must find the rest."""
    with open(os.path.join(HERE, "requirements.txt")) as file:
        pins = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    halves = [subprocess.Popen(pip + ["--no-deps"] + pins[n::2], cwd=HERE) for n in range(2)]
    done = [half.wait() == 0 for half in halves]
    check = [python(), "-m", "pip", "check", "--disable-pip-version-check"]
    return all(done) and subprocess.call(check, cwd=HERE, stdout=subprocess.DEVNULL) == 0


def install() -> None:
    """Make `.venv` and install the pinned set and this package into it; leave a stamp when done."""
    check_machine()
    started = time.time()
    if not os.path.exists(python()):
        print("Making .venv …", flush=True)
        if run(sys.executable, "-m", "venv", VENV) != 0:
            stop("Could not make .venv: on Debian and Ubuntu, install the package python3-venv first.")
    print("Installing the tested versions from requirements.txt (a few minutes the first time) …", flush=True)
    pip = [python(), "-m", "pip", "install", "--disable-pip-version-check"]
    quiet = [] if sys.stdout.isatty() else ["--quiet"]  # on a terminal pip draws its own progress bars
    if not install_pinned(pip + ["--quiet"]) and run(*(pip + quiet + ["-r", "requirements.txt"])) != 0:
        stop("Installing failed; the lines above say why. Nothing is half-done: run the same command again.")
    if run(*(pip + ["--quiet", "--no-deps", "--no-build-isolation", "-e", "."])) != 0:
        stop("Installing coursekit itself failed; the lines above say why.")
    with open(os.path.join(VENV, ".installed"), "w") as stamp:
        stamp.write("requirements.txt was installed\n")
    print("Set up in %.0f s." % (time.time() - started), flush=True)


def find_browser() -> "str | None":
    """The path of a Chromium or Chrome, or None."""
    named = os.environ.get("COURSEKIT_BROWSER")
    if named:
        return named if os.path.exists(named) else None
    mac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    names = (mac, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return next((path for path in map(shutil.which, names) if path), None)


def install_packages(what: str, packages: "list[str]") -> bool:
    """Install Debian packages where this is Debian and we are root; True where that worked."""
    if not (shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0):
        return False
    print("Installing " + what + " …", flush=True)
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.call(["apt-get", "update", "-qq"], env=environment, stdout=subprocess.DEVNULL)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"] + packages
    return subprocess.call(command, env=environment, stdout=subprocess.DEVNULL) == 0


def browser() -> None:
    """Install what the browser and database tests need, where we may; else the tests will say so."""
    if not find_browser():
        install_packages("Chromium for the browser tests", ["chromium", "fonts-dejavu-core"])
    if not find_browser():
        print("No Chromium: the browser tests will say what to install.", flush=True)
    if not (shutil.which("firefox-esr") or shutil.which("firefox")):
        install_packages("Firefox for the tests of the live pages", ["firefox-esr"])
    if not find_postgres():
        install_packages("PostgreSQL for the gradebook tests", ["postgresql"])


def find_postgres() -> "str | None":
    """The folder of PostgreSQL's server programs, or None."""
    found = shutil.which("initdb")
    if found and shutil.which("postgres"):
        return os.path.dirname(found)
    places = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    newest = max(places, key=lambda path: [int(n) for n in re.findall("[0-9]+", path)], default=None)
    return newest and os.path.dirname(newest)


if __name__ == "__main__":
    browser() if sys.argv[1:] == ["browser"] else install()
