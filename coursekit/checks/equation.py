"""`equations`: a student's equations are read, checked, run, and held against an oracle or a reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from inspect import signature

import torch
from torch import Tensor

from ..notation.compare.adopt import adopt
from ..notation.equations import Equations
from ..notation.errors import NotationError
from ..notation.names import canonical
from ..notation.run.reach import fail, spell
from ..notation.run.sizes import outside_reads
from ..notation.system import System
from ..notation.tree import Apply, walk
from .cases import Case, cases_of
from .compare import Known, judge
from .mistakes import Mistake
from .nearby import nearby
from .precision import float64, on_host
from .recognise import sizes_of
from .result import Result, combine, right, wrong
from .student import Stopped, check, describe, listed
from .tensors import close
from .written import unreadable, written


@check
def equations(
    answer: object,
    reference: str | None = None,
    *,
    oracle: Callable[..., object] | None = None,
    given: Case | Sequence[Case] = (),
    outputs: Sequence[str] | None = None,
    boundary: Mapping[str, str] | None = None,
    functions: Mapping[str, Callable] | None = None,
    mistakes: Sequence[Mistake] = (),
    hint: str = "",
    **options,
) -> Result:
    """Do the equations say what they should?

    reference  the right equations (hidden tests): both are run on random tensors of distinct sizes, and a
               difference is named; `options` go to the language's own `compare`
    oracle     instead of it, a torch function of the variables in `given`, not written as equations: it returns the
               outputs by name, or the one output. One part an output. With both, the oracle decides, and the answer
               takes over what the reference pads and centres, as it does without an oracle
    given      the tensors of the question by name, or several such cases
    outputs    the tensors that are compared (default: those that nothing else reads)
    boundary   the variable that holds a recurrence's start: {"h": "h0"}
    functions  the opaque functions of the question: {"CELL": cell}
    mistakes   `wrong` is the equations that the mistake leads to
    """
    if oracle is None and reference is None:
        raise ValueError("a check of equations needs an oracle or a reference")
    try:
        system = written(answer, Equations, "the equations")
    except Stopped as stop:
        return (_verbatim(answer, mistakes) or stop).result.hinted(hint)
    wanted = [canonical(name) for name in outputs or ()]
    _defines(system, wanted)
    if oracle is not None:
        if reference is not None:
            system = Equations(adopt(system.system, Equations(reference).system))
        run = _Run(cases_of(given), boundary or {}, functions or {})
        result = run.judge(system, oracle, wanted, mistakes)
    else:
        if wanted:
            options["outputs"] = wanted
        result = _compared(
            system, str(reference), mistakes, {"functions": _guarded(functions) or None, **options}
        )
    return result.hinted(hint)


def _defines(system: Equations, wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in system.outputs:
            has = ", ".join(f"`{n}`" for n in system.outputs)
            sentence = f"Your equations define {has}; `{name}` is asked for."
            if any(n.startswith(f"{name}_") for n in system.outputs):
                sentence += f" Its indices stand in square brackets: `{name}[…]`."
            raise Stopped(wrong(sentence, "missing"))


def _guarded(functions: Mapping[str, Callable] | None) -> dict[str, Callable]:
    """The functions of the question; where one fails on what the student gave it, that is a sentence."""

    def apply(name: str, function: Callable, *args: Tensor) -> Tensor:
        try:
            return function(*args)
        except Exception as error:
            sentence = f"`{name}` cannot use what you gave it: {describe(error)}"
            raise Stopped(wrong(sentence, "arguments")) from None

    return {name: partial(apply, name, function) for name, function in (functions or {}).items()}


def _calls(system: Equations, functions: Mapping[str, Callable]) -> None:
    """Every function must be one of the question's, with as many arguments as it takes."""
    for call in (n for e in system.program.equations for n in walk(e.right) if isinstance(n, Apply)):
        if call.function not in functions:
            has = f"gives {listed([f'`{n}`' for n in functions])}" if functions else "has none"
            sentence = f"`{call.function}` is not a function of this question; it {has}."
            raise Stopped(wrong(sentence, "extra"))
        takes = [p for p in signature(functions[call.function]).parameters.values() if p.default is p.empty]
        if len(takes) != len(call.args) and all(p.kind is p.POSITIONAL_OR_KEYWORD for p in takes):
            names = listed([f"`{p.name}`" for p in takes])
            sentence = (
                f"`{call.function}` takes {len(takes)} arguments, {names}, and you gave it {len(call.args)}."
            )
            raise Stopped(wrong(sentence, "arguments"))


def _verbatim(answer: object, mistakes: Sequence[Mistake]) -> Stopped | None:
    """A named mistake may be text that makes no sense as equations: then it is known by its words."""
    for mistake in mistakes:
        if str(answer).split() == str(mistake.wrong).split():
            return Stopped(wrong(mistake.sentence, "mistake", mistake=mistake.name))
    return None


def _compared(system: Equations, reference: str, mistakes: Sequence[Mistake], options: Mapping) -> Result:
    compared = Equations(reference).compare(system, **options)
    if compared.equal:
        return right(
            "Your equations are right: on random tensors they give the same numbers as the course's."
        )
    for mistake in mistakes:
        try:
            made = Equations(str(mistake.wrong)).compare(system, **{**options, "diagnose": False}).equal
        except NotationError:  # known by its words alone: see `_verbatim`
            continue
        if made:
            return wrong(mistake.sentence, "mistake", mistake=mistake.name)
    return wrong(compared.message, compared.kind or "different")


class _Run:
    """The cases of a question, on which systems of equations are run."""

    def __init__(self, cases: Sequence[Case], boundary: Mapping[str, str], functions: Mapping[str, Callable]):
        self.cases, self.note = float64([dict(case) for case in cases])
        self.boundary, self.functions = boundary, functions

    def judge(self, system: Equations, oracle, wanted: list[str], mistakes: Sequence[Mistake]) -> Result:
        rights = [self._right(oracle, case, wanted) for case in on_host(self.cases)]
        wanted = wanted or list(rights[0])
        _defines(system, wanted)
        try:
            answers = [self._outputs(system, case) for case in self.cases]
        except Stopped as stop:
            raise self._stopped_alike(stop, mistakes) or stop from None
        sizes = [sizes_of(case) for case in self.cases]
        parts = {}
        for name in wanted:
            others = {other: [r[other] for r in rights] for other in wanted if other != name}
            known = Known(others, sizes, partial(self._mistaken, mistakes, name))
            parts[name] = judge(
                name, f"`{name}`", [a[name] for a in answers], [r[name] for r in rights], known
            )
        result = combine(
            parts, f"Your equations are right: run on tensors, they agree with the oracle{self.note}."
        )
        if result.ok or mistakes:  # with mistakes it is a hidden test, whose panel nobody sees
            return result
        return replace(
            result, look=cache(partial(nearby, system, partial(self._agrees, rights, wanted), wanted))
        )

    def _agrees(
        self, rights: Sequence[Mapping[str, Tensor]], wanted: Sequence[str], system: Equations
    ) -> bool:
        return all(
            close(outputs[name], right_ones[name])
            for case, right_ones in zip(on_host(self.cases), rights, strict=True)
            for outputs in [self._run(system, case)]
            for name in wanted
        )

    def _right(self, oracle, case: Case, wanted: Sequence[str]) -> dict[str, Tensor]:
        with torch.no_grad():
            value = oracle(**case)
        if isinstance(value, Mapping):
            return {canonical(name): torch.as_tensor(v).detach().double() for name, v in value.items()}
        if len(wanted) != 1:
            raise ValueError("an oracle that returns one tensor needs `outputs` to name it")
        return {wanted[0]: torch.as_tensor(value).detach().double()}

    def _outputs(self, system: Equations, case: Case) -> dict[str, Tensor]:
        try:
            return self._run(system, case)
        except NotationError as error:
            raise Stopped(unreadable(error)) from None

    def _stopped_alike(self, stop: Stopped, mistakes: Sequence[Mistake]) -> Stopped | None:
        """The one mistake that cannot be run on these sizes for the very reason that the answer cannot."""
        found = []
        for mistake in mistakes:
            try:
                system = Equations(str(mistake.wrong))
                for case in self.cases:
                    self._outputs(system, case)
            except NotationError:  # known by its words alone: see `_verbatim`
                continue
            except Stopped as other:
                if other.result.sentence == stop.result.sentence:
                    found.append(mistake)
        if len(found) != 1:
            return None
        return Stopped(wrong(found[0].sentence, "mistake", mistake=found[0].name, block=stop.result.block))

    def _mistaken(self, mistakes: Sequence[Mistake], name: str) -> list[tuple[Mistake, list[Tensor]]]:
        """What the named mistakes give for one output; those that cannot be run on these sizes give nothing."""
        found = []
        for mistake in mistakes:
            try:
                outputs = [self._run(Equations(str(mistake.wrong)), case) for case in self.cases]
            except (NotationError, Stopped):
                continue
            if all(name in out for out in outputs):
                found.append((mistake, [out[name] for out in outputs]))
        return found

    def _run(self, system: Equations, case: Case) -> dict[str, Tensor]:
        by_name = {canonical(name): value for name, value in case.items()}
        strange = [name for name in system.inputs if name not in by_name]
        if strange:
            given = ", ".join(f"`{name}`" for name in by_name)
            raise Stopped(
                wrong(f"`{strange[0]}` is not a tensor of this question; it gives {given}.", "extra")
            )
        _calls(system, self.functions)
        start = self._start(system.system, case)
        return system.run(
            {n: by_name[n] for n in system.inputs}, boundary=start, functions=_guarded(self.functions)
        )

    def _start(self, system: System, case: Case) -> dict[str, object]:
        """What the question gives outside the range of each tensor that is read there, or the sentence that it does
        not."""
        given = {canonical(name): variable for name, variable in self.boundary.items()}
        for name, places in system.boundary.items():
            axis, steps = max(places, key=lambda place: abs(place[1]))
            read = next(outside_reads(system, name), None)
            if name in system.padded or read is None:
                continue
            if name not in given:
                at = f"`{name}` is read outside its range, at {spell(read.indices[axis])}, where this question gives"
                raise fail(system, f"{at} no value (`pad {name}` says that it is zero)", read.span)
            start = case[given[name]]
            if abs(steps) > 1 and isinstance(start, Tensor) and start.dim() < len(read.indices):
                far = f"`{name}` is read {abs(steps)} steps outside its range, and this question gives 1 step there"
                raise fail(system, f"{far}, `{given[name]}`", read.span)
        return {name: case[variable] for name, variable in given.items() if name in system.boundary}
