"""An answer beside its reference, before anything runs: conventions taken over, names and sizes matched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import permutations

from ..check.checker import check
from ..show import show
from ..system import System
from ..tree import Directive, Program, Ref, references


def adopt(answer: System, reference: System) -> System:
    """The answer under the reference's conventions: what is padded, and which windows are centred. An answer
    that says so itself keeps what it says."""
    words = {s.word for s in answer.program.statements if isinstance(s, Directive)}
    added: list[Directive] = []
    padded = tuple(sorted(n for n in reference.padded if n in answer.tensors and n not in answer.padded))
    if "pad" not in words and padded:
        added.append(Directive("pad", padded))
    if not words & {"centered", "centred"} and reference.centered:
        names = tuple(sorted(_centred(answer, reference)))
        if names:
            added.append(Directive("centered", names))
    if not added:
        return answer
    statements = (*answer.program.statements, *added)
    return check(Program(statements, answer.program.source), broadcast=True)


def _plain(system: System) -> Iterator[tuple[str, int, str]]:
    """Every place where a bare index stands: tensor, axis, index."""
    for equation in system.ranges:
        for ref in references(equation.right):
            for axis, affine in enumerate(ref.indices):
                if affine.plain is not None:
                    yield ref.name, axis, affine.plain


def _centred(answer: System, reference: System) -> set[str]:
    places = {(tensor, axis) for tensor, axis, index in _plain(reference) if index in reference.centered}
    return {index for tensor, axis, index in _plain(answer) if (tensor, axis) in places}


# ── complaints ───────────────────────────────────────────────────────────────────────────────


def complaint(reference: System, answer: System, wanted: Iterable[str]) -> tuple[str, str | None, str] | None:
    """(kind, tensor, sentence) for an answer that cannot be run beside the reference, else None."""
    for check_ in (_unknown, _missing, _given, _ranks, _sizes):
        found = check_(reference, answer, tuple(wanted))
        if found is not None:
            return found
    return None


def _close(name: str, names: Iterable[str]) -> str:
    names = list(names)
    same = [n for n in names if _letters(n) == _letters(name)]
    close = same or get_close_matches(name, names, 1, 0.6)
    return f"; did you mean `{close[0]}`?" if close else ""


def _letters(name: str) -> str:
    return name.replace("_", "").replace("'", "").lower()


def _unknown(reference: System, answer: System, wanted: tuple[str, ...]) -> tuple[str, str, str] | None:
    for name in answer.inputs:
        if name in reference.inputs:
            continue
        if name in reference.tensors:
            return (
                "missing tensor",
                name,
                f"You use `{name}` but do not define it: an equation for it is missing.",
            )
        hint = _close(name, {*reference.tensors, *answer.outputs} - {name})
        if not hint:
            hint = "; given are " + ", ".join(f"`{n}`" for n in reference.inputs) + "."
        return "unknown tensor", name, f"You use `{name}`, which is neither given nor defined{hint}"
    return None


def _missing(reference: System, answer: System, wanted: tuple[str, ...]) -> tuple[str, str, str] | None:
    for name in wanted:
        if name not in answer.outputs:
            hint = _close(name, set(answer.outputs) - set(reference.tensors))
            return "missing tensor", name, f"Your equations do not define `{name}`{hint or '.'}"
    return None


def _given(reference: System, answer: System, wanted: tuple[str, ...]) -> tuple[str, str, str] | None:
    for name in answer.outputs:
        if name in reference.inputs:
            return "unknown tensor", name, f"`{name}` is given; give what you define another name."
    return None


def _ranks(reference: System, answer: System, wanted: tuple[str, ...]) -> tuple[str, str, str] | None:
    for name in (*answer.inputs, *wanted):
        mine, theirs = reference.tensors[name].dims, answer.tensors[name].dims
        if len(mine) != len(theirs):
            shown = _written(reference, name)
            count = f"{len(mine)} {'index' if len(mine) == 1 else 'indices'}"
            return (
                "shape",
                name,
                f"`{name}` has {count}, as in `{shown}`; you wrote `{_written(answer, name)}`.",
            )
    return None


def _written(system: System, name: str) -> str:
    found = next(
        (r for e in system.ranges for r in (e.left, *references(e.right)) if r.name == name), Ref(name)
    )
    return show(found)


def _sizes(reference: System, answer: System, wanted: tuple[str, ...]) -> tuple[str, str | None, str] | None:
    """Sizes that the answer needs to be equal and the reference keeps apart."""
    clash = _clash(reference, answer)
    if clash is None:
        return None
    first, second, tensor = clash
    equal = f"In your equations {first} and {second} must be equal, and they are not."
    for name in answer.inputs:
        rank = len(reference.tensors[name].dims)
        for order in permutations(range(rank)):
            if order != tuple(range(rank)) and _clash(reference, answer, {name: order}) is None:
                right, wrong = _written(reference, name), _written(answer, name)
                text = (
                    f"{equal} `{name}` is transposed. You wrote `{wrong}`; its axes are those of `{right}`."
                )
                return "transpose", name, text
    return "size", tensor, f"{equal} Look at the indices of `{tensor}`."


def _clash(
    reference: System, answer: System, turned: dict[str, tuple[int, ...]] | None = None
) -> tuple[str, str, str] | None:
    """Two sizes of the reference that one dimension of the answer stands for, and the tensor that shows it."""
    stands: dict[str, tuple[str, str]] = {}
    for name in answer.inputs:
        mine, theirs = reference.tensors[name].dims, answer.tensors[name].dims
        if turned and name in turned:
            mine = tuple(mine[k] for k in turned[name])
        for own, other in zip(mine, theirs, strict=True):
            seen = stands.setdefault(other, (own, name))
            if seen[0] != own:
                return f"`{seen[0]}`", f"`{own}`", name
    return None
