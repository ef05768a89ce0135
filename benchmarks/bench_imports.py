"""What `import coursekit` adds to `import torch`, each in a fresh Python."""

from __future__ import annotations

import subprocess
import sys

from .measure import Row, ms, ratio, take_turns

TOGETHER = "import torch, coursekit, coursekit.models, coursekit.checks, coursekit.notation"


def _python(code: str):
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def rows(rounds: int = 5) -> list[Row]:
    times = take_turns({"torch": _python("import torch"), "both": _python(TOGETHER)}, rounds)
    what = "import torch and coursekit, against torch alone"
    return [Row(what, ms(times["both"]), ms(times["torch"]), ratio(times["both"], times["torch"]), 1.10)]
