"""An answer beside its reference, before anything runs: conventions taken over, names and sizes matched."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import permutations

from ..check.checker import check, suggestion
from ..errors import NotationError
from ..meaning.reach import all_reads
from ..show import show
from ..system import System
from ..tree import Directive, Program, Ref, references, transform


def adopt(answer: System, reference: System) -> System:
    """The answer under the reference's conventions: what is padded, and which windows are centred. An answer
    that says so itself keeps what it says."""
    words = {s.word for s in answer.program.statements if isinstance(s, Directive)}
    padded = sorted(n for n in reference.padded if n in answer.tensors and n not in answer.padded)
    said = (("pad", padded, {"pad"}), ("centered", _centred(answer, reference), {"centered", "centred"}))
    added = [Directive(word, tuple(names)) for word, names, own in said if names and not words & own]
    if not added:
        return answer
    statements = (*answer.program.statements, *added)
    return check(Program(statements, answer.program.source), broadcast=True)


def _centred(answer: System, reference: System) -> list[str]:
    """The answer's indices that stand bare where a centred one of the reference does."""
    mine, theirs = (
        [(r.name, k, a.plain) for e in s.ranges for r in references(e.right) for k, a in enumerate(r.indices)]
        for s in (answer, reference)
    )
    places = {(tensor, axis) for tensor, axis, index in theirs if index in reference.centered}
    return sorted({index for tensor, axis, index in mine if index and (tensor, axis) in places})


# ── complaints ───────────────────────────────────────────────────────────────────────────────


Complaint = tuple[str, str, str]  # its kind, the tensor, the sentence


def complaints(reference: System, answer: System, wanted: tuple[str, ...]) -> Iterator[Complaint]:
    """What is wrong with an answer that cannot be run beside the reference."""
    read = {name for names in all_reads(answer).values() for name in names}
    for name in answer.inputs:
        if name in reference.inputs:
            continue
        if name in reference.tensors:
            if name not in read:
                continue  # it stands there for a size alone
            text = f"You use `{name}` but do not define it: an equation for it is missing."
            yield "missing tensor", name, text
        given = "; given are " + ", ".join(f"`{n}`" for n in reference.inputs) + "."
        hint = suggestion(name, {*reference.tensors, *answer.outputs} - {name}) or given
        yield "unknown tensor", name, f"You use `{name}`, which is neither given nor defined{hint}"
    for name in wanted:
        if name not in answer.outputs:
            hint = suggestion(name, set(answer.outputs) - set(reference.tensors)) or "."
            yield "missing tensor", name, f"Your equations do not define `{name}`{hint}"
    for name in answer.outputs:
        if name in reference.inputs:
            yield "unknown tensor", name, f"`{name}` is given; give what you define another name."
    for name in (*answer.inputs, *wanted):
        mine, theirs = reference.tensors[name].dims, answer.tensors[name].dims
        if len(mine) != len(theirs):
            count = f"{len(mine)} {'index' if len(mine) == 1 else 'indices'}"
            text = f"`{name}` has {count}, as in `{_written(reference, name)}`; you wrote `{_written(answer, name)}`."
            yield "shape", name, text
    yield from _sizes(reference, answer)


def _written(system: System, name: str) -> str:
    refs = (r for e in system.ranges for r in (e.left, *references(e.right)) if r.name == name)
    return show(next(refs, Ref(name)))


def _sizes(reference: System, answer: System) -> Iterator[Complaint]:
    """Sizes that the answer needs to be equal and the reference keeps apart."""
    if _clash(reference, answer, answer.inputs) is None:
        return
    met = (r.name for e in answer.ranges for r in (*references(e.right), e.left))
    both = (n for n in dict.fromkeys(met) if n in reference.tensors)
    first, second, tensor = _clash(reference, answer, both) or ("", "", "")  # where it shows first
    equal = f"In your equations {first} and {second} must be equal, and they are not."
    fits = [m for m in _mended(answer, reference) if _clash(reference, m[3], answer.inputs) is None]
    if len(fits) == 1:
        ((tensor, old, new, _),) = fits
        if old.name == new.name:
            text = f"`{old.name}` is transposed: you wrote `{show(old)}`; it must be `{show(new)}`."
            yield "transpose", old.name, f"{equal} {text}"
        text = f"You used `{show(old)}` in `{tensor}` where `{show(new)}` belongs."
        yield "wrong tensor", tensor, f"{equal} {text}"
    look = "equation" if answer.tensors[tensor].defined else "indices"
    yield "size", tensor, f"{equal} Look at the {look} of `{tensor}`."


def _mended(answer: System, reference: System) -> Iterator[tuple[str, Ref, Ref, System]]:
    """The answer with the axes of one input exchanged where it is read so, or with a tensor that the reference reads in
    place of one that it does not read there: the tensor defined, the old reading and the new one."""
    reads = all_reads(reference)
    for equation in answer.program.equations:
        name, own = equation.left.name, dict.fromkeys(references(equation.right))
        left_out = sorted(reads.get(name, set()) - {r.name for r in own})
        for ref in own:
            turned = permutations(ref.indices) if ref.name in answer.inputs else ()
            others = [replace(ref, indices=order) for order in turned]
            others += [replace(ref, name=n) for n in left_out if ref.name not in reads.get(name, set())]
            for new in (other for other in others if other != ref):
                put = lambda n, old=ref, new=new: new if n == old else n
                mended = replace(equation, right=transform(equation.right, put))
                statements = tuple(mended if s is equation else s for s in answer.program.statements)
                with suppress(NotationError):
                    yield name, ref, new, check(Program(statements, answer.program.source), broadcast=True)


def _clash(reference: System, answer: System, names: Iterable[str]) -> tuple[str, str, str] | None:
    """Two sizes of the reference that one dimension of the answer stands for, and the tensor that shows it."""
    stands: dict[str, tuple[str, str]] = {}
    for name in names:
        mine, theirs = reference.tensors[name].dims, answer.tensors[name].dims
        into, looked = reference.tensors[name].indexes, answer.tensors[name].indexes
        if into and looked:  # words of one kind looked up among those of another
            mine, theirs = (*mine, into), (*theirs, looked)
        for own, other in zip(mine, theirs, strict=True) if len(mine) == len(theirs) else ():
            seen = stands.setdefault(other, (own, name))
            if seen[0] != own:
                return f"`{seen[0]}`", f"`{own}`", name
    return None
