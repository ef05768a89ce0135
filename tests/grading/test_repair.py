"""A corpus of damaged notebooks: each gets the grade that its answers deserve, and a log that says why."""

import copy
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from coursekit.grading import Limits, Warm
from coursekit.grading.assignment import Assignment, master
from coursekit.grading.outcome import Task
from coursekit.grading.recognise import Unreadable, read_notebook, recognise
from coursekit.grading.repair import repair
from traitlets.config import Config
