"""The true gradients of a loss: by autograd, by central differences, and as mistakes would have them."""

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..judging.cases import Case
from ..judging.outcome import as_torch
from ..judging.student import stop
from ..judging.tensors import at, close, unflatten
from ..shown.result import Finding
from .bent import Bend, Record, bends

# What a bend says, and its number among those that say the same (of another weight): alike in every case.
Key = tuple[str, int]

STEP = 6e-6  # the cube root of float64's rounding: the best step of a central difference
PROBES = 4  # entries of each gradient where autograd itself is checked


@dataclass(frozen=True)
class Target:
    """What a part is the gradient with respect to: a variable, or one row of it (`L[x]`)."""

    part: str
    variable: str
    row: str | None = None

    def of(self, tensor: Tensor, case: Case) -> Tensor:
        if self.row is None:
            return tensor
        return tensor[int(self.row) if self.row.isdigit() else int(case[self.row])]  # type: ignore[call-overload]


def targets_of(wrt: Iterable[str] | Mapping[str, str]) -> list[Target]:
    targets = []
    for part, text in (wrt if isinstance(wrt, Mapping) else {name: name for name in wrt}).items():
        match = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", text)
        if match is None:
            raise ValueError(f"wrt names a variable, `U`, or a row of one, `L[x]`; not {text!r}")
        targets.append(Target(part, match[1], match[2]))
    return targets


class Truth:
    """The gradients of one case, and what they become where a rule of the backward pass is bent."""

    def __init__(self, loss: Callable[..., Tensor], case: Case, targets: Sequence[Target]):
        self.case, self.targets = case, targets
        self.loss = _taking(loss, case)
        self.leaves = {
            t.variable: torch.as_tensor(case[t.variable]).detach().clone().requires_grad_() for t in targets
        }
        self.value = self.loss({**case, **self.leaves})
        if not isinstance(self.value, Tensor) or self.value.numel() != 1 or not self.value.requires_grad:
            raise ValueError("the loss must return one number that torch can differentiate")
        self.gradients = self._backward(nullcontext())
        self._bent: dict[Key, dict[str, Tensor]] = {}

    def _backward(self, mode: AbstractContextManager[object]) -> dict[str, Tensor]:
        """The gradient of each part, with this mode at work."""
        value, leaves = self.value.reshape(()), list(self.leaves.values())
        with mode:
            found = torch.autograd.grad(value, leaves, retain_graph=True, materialize_grads=True)
        full = dict(zip(self.leaves, found, strict=True))
        return {t.part: t.of(full[t.variable], self.case) for t in self.targets}

    @cached_property
    def bends(self) -> dict[Key, Bend]:
        """Every rule that can be bent in this pass."""
        record, seen = Record(), Counter[str]()
        self._backward(record)
        tensors = {name: value for name, value in self.case.items() if isinstance(value, Tensor)}
        found = {}
        for bend in bends(record.calls, {**tensors, **self.leaves}):
            found[bend.says, seen[bend.says]] = bend
            seen[bend.says] += 1
        return found

    def explains(self, key: Key, part: str, answer: Tensor) -> bool:
        """The student's gradient is what this bent rule gives, and that is not the right one."""
        if key not in self._bent:
            self._bent[key] = {}
            with suppress(RuntimeError):  # the bent rule may not fit these sizes
                self._bent[key] = self._backward(Record(self.bends[key].rules)) if key in self.bends else {}
        bent = self._bent[key].get(part)
        return bent is not None and close(answer, bent) and not close(bent, self.gradients[part])

    def difference(self, target: Target, entry: tuple[int, ...]) -> float:
        """(J(w + s) - J(w - s)) / 2s at one entry of the target."""
        variable = torch.as_tensor(self.case[target.variable]).detach()
        step = STEP * max(1.0, float(target.of(variable, self.case)[entry].abs()))
        ends = []
        for sign in (1, -1):
            moved = variable.clone()
            target.of(moved, self.case)[entry] += sign * step
            with torch.no_grad():
                ends.append(float(self.loss({**self.case, target.variable: moved})))
        return (ends[0] - ends[1]) / (2 * step)


def explanation(part: str, answers: Sequence[Tensor], truth: Sequence[Truth]) -> Finding | None:
    """The bent rule of the backward pass that gives the student's gradient in every case."""
    for key, bend in truth[0].bends.items():
        if all(t.explains(key, part, a) for a, t in zip(answers, truth, strict=True)):
            return Finding(bend.kind, bend.says)
    return None


def agreed(truth: Truth) -> None:
    """Stopped, unless autograd agrees with the loss's own slope: the loss is at fault, and not the student."""
    noise = 1e-15 * max(1.0, abs(float(truth.value.detach()))) / STEP
    for target in truth.targets:
        gradient = truth.gradients[target.part]
        if gradient.numel() == 0:
            continue
        flat = gradient.abs().reshape(-1)
        spread = range(0, flat.numel(), max(1, flat.numel() // (PROBES - 1)))
        for number in dict.fromkeys([int(flat.argmax()), *spread][:PROBES]):
            entry = unflatten(number, gradient.shape)
            slope, expected = truth.difference(target, entry), float(gradient[entry])
            if abs(slope - expected) > 1e-4 * float(flat.max()) + 100 * noise:
                own = "This check cannot judge: autograd and central differences disagree about the loss itself, for "
                own += f"`{target.part}`{at(entry)}: {expected:.6g} and {slope:.6g}. Does it detach or change a tensor?"
                stop("oracle", own)


def _taking(loss: Callable[..., Tensor], case: Case) -> Callable[[Case], Tensor]:
    """The loss as a function of a whole case: it receives the variables that its signature names."""
    parameters = inspect.signature(loss).parameters.values()
    everything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    names = [n for n in case if everything or any(p.name == n for p in parameters)]
    return lambda variables: loss(**{n: as_torch(variables[n]) for n in names})
