"""The command line. The student's install has none, and says so."""

import sys
from importlib.util import find_spec

if find_spec("typer") is None or find_spec("rich") is None:
    sys.exit("the `coursekit` command needs its tools: install them with `pip install coursekit[grade]`")
