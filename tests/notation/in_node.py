"""Running what `Equations.javascript` writes, in Node: many calls in one process.

from in_node import Call, answers       # conftest.py puts this folder on the path
"""

from __future__ import annotations

import json
import math
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import torch

from coursekit.book.vendor import node
from coursekit.notation import Equations

DRIVER = """
const fs = require("fs");
const number = (x) => (typeof x === "string" ? Number(x) : x);
const flat = (x) => (x && x.flat ? (x.whole ? Int32Array : Float64Array).from(x.flat.map(number)) : x);
const all = (o) => Object.fromEntries(Object.entries(o).map(([k, v]) => [k, Array.isArray(v) ? v.map(flat) : flat(v)]));
const answers = JSON.parse(fs.readFileSync(0)).map((c) => {
  try {
    const model = new Function(`${c.text}; return model`)();
    const functions = new Function(`return { ${c.functions} }`)();
    const made = model(all(c.inputs), c.sizes, { boundary: all(c.boundary), functions });
    return Object.fromEntries(Object.entries(made).map(([k, v]) => [k, Array.from(v, String)]));
  } catch (error) {
    return { error: error.message };
  }
});
fs.writeFileSync(1, JSON.stringify(answers));
"""


@dataclass
class Call:
    """A system, and tensors to run it on."""

    equations: Equations
    inputs: dict
    boundary: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)  # every size
    functions: str = ""  # a JavaScript object's inside
    outputs: list[str] | None = None

    def packed(self) -> dict:
        return {
            "text": self.equations.javascript(outputs=self.outputs),
            "inputs": {k: flat(v) for k, v in self.inputs.items()},
            "boundary": {k: flat(v) for k, v in self.boundary.items()},
            "sizes": self.sizes,
            "functions": self.functions,
        }


def flat(value):
    if isinstance(value, tuple):
        return [flat(v) for v in value]
    if not isinstance(value, torch.Tensor):
        return value
    values = value.detach().reshape(-1).tolist()
    return {
        "whole": not value.is_floating_point(),
        "flat": [x if math.isfinite(x) else str(x) for x in values],
    }


def answers(calls: list[Call], folder: Path | None = None) -> list[dict]:
    """For each call every tensor as a flat one, or {"error": the sentence}."""
    packed = (
        json.dumps([c.packed() for c in calls])
        .replace('"inf"', '"Infinity"')
        .replace('"-inf"', '"-Infinity"')
    )
    done = subprocess.run([node(), "-e", DRIVER], input=packed, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    read = lambda v: torch.tensor([float(x.replace("Infinity", "inf")) for x in v], dtype=torch.float64)
    return [a if "error" in a else {name: read(v) for name, v in a.items()} for a in found]
