"""`equations`: a student's equations are read, checked, run, and held against an oracle or a reference."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from ...notation.compare.adopt import adopt
from ...notation.compare.comparison import close as near
from ...notation.compare.draws import Draw, engine
from ...notation.compare.local import Local, sample
from ...notation.compare.mutate import Mutation
from ...notation.equations import Equations
from ...notation.errors import NotationError
from ...notation.latex import latex
from ...notation.meaning.reach import fail
from ...notation.meaning.sizes import outside_reads
from ...notation.meaning.table import Place, Table
from ...notation.parse import lexer
from ...notation.show import show
from ...notation.system import System
from ...notation.tree import Apply, walk
from ..diagnosis.instead import Instead
from ..diagnosis.nearby import compared_finding, nearby
from ..diagnosis.recognise import judge
from ..judging.cases import Case, float64, on_host
from ..judging.outcome import Mistake, matching
from ..judging.student import Stopped, check, describe, listed, stop, unreadable, written
from ..judging.tensors import close
from ..shown.locked import Outcome
from ..shown.panel import equations as equations_html
from ..shown.panel import shape_of
from ..shown.result import PLAIN, Finding, Result, combine, mistaken, right, wrong

Reads = Callable[[str], Equations]  # reads text with what the question knows of its tensors
canonical = lru_cache(maxsize=1024)(
    lexer.canonical
)  # a diagnosis asks for the same few names hundreds of times


@check
def equations(
    answer: object,
    reference: str | None = None,
    *,
    oracle: Callable[..., object] | None = None,
    given: Case | Sequence[Case] = (),
    outputs: Sequence[str] | None = None,
    boundary: Mapping[str, str] | None = None,
    functions: Mapping[str, Callable[..., Tensor]] | None = None,
    mistakes: Sequence[Mistake] = (),
    **options: Any,
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

    >>> equations("y[j] = sum[i](W[j,i] x[i])", "y[j] = x[I] W[j,I]").ok
    True
    """
    if oracle is None and reference is None:
        raise ValueError("a check of equations needs an oracle or a reference")
    wanted = [canonical(name) for name in outputs or ()]
    functions = {name: partial(_apply, name, function) for name, function in (functions or {}).items()}
    run = None if oracle is None else _Run(given, boundary or {}, functions, oracle, wanted)
    known = Equations(reference).signature if reference is not None else run.signature if run else {}
    reads = partial(Equations, signature=known)
    try:
        system = written(answer, reads, "the equations")
    except Stopped as stop:
        # A named mistake may be text that makes no sense as equations: then it is known by its words.
        words = (Outcome(text=" ".join(str(answer).split())),) if stop.result.kind == "notation" else ()
        return replace(stop.result, outcomes=words)
    _defines(system, wanted)
    if run is not None:
        if reference is not None:
            try:
                system = Equations(adopt(system.system, Equations(reference).system))
            except NotationError as error:  # its words may be the reference's
                return wrong("shape", whole=unreadable(error).sentence)
        result = run.judge(system)
    else:
        if wanted:
            options["outputs"] = wanted
        options = {"functions": functions or None, **options}
        result = _compared(system, str(reference), mistakes, options, reads)
    return replace(result, reading=result.reading or _reading(system, {}, {}, ()))


def warm() -> None:
    """What a first check of equations would wait for: once a process the language's grammar is made into tables."""
    Equations("y[i] = tanh(W[i,J] x[J])").run({"W": torch.zeros(2, 3), "x": torch.zeros(3)})


def _reading(
    system: Equations, values: Mapping[str, object], given: Mapping[str, object], failed: Sequence[str]
) -> str:
    """The equations as they were read, with the shape of every tensor in the first case, the wrong ones marked."""
    shape: Callable[[str], str] = lambda name: shape_of(values[name]) if name in values else ""
    left = [(e, e.left.name) for e in system.program.equations]
    lines = [(latex(e, page=True), shape(name), name in failed) for e, name in left]
    shapes = {name: given[name] for name in system.inputs if name in given}
    return equations_html(lines, ", ".join(f"{name}: {shape_of(value)}" for name, value in shapes.items()))


def _defines(system: Equations, wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in system.outputs:
            has = ", ".join(f"`{n}`" for n in system.outputs)
            near = any(n.startswith(f"{name}_") for n in system.outputs)
            more = f" Its indices stand in square brackets: `{name}[…]`." if near else ""
            stop("missing", f"Your equations define {has}; `{name}` is asked for.{more}")


def _apply(name: str, function: Callable[..., Tensor], *args: Tensor) -> Tensor:
    """A function of the question; where it fails on what the student gave it, that is a sentence."""
    try:
        return function(*args)
    except Exception as error:
        stop("arguments", f"`{name}` cannot use what you gave it: {describe(error)}")


def _calls(system: Equations, functions: Mapping[str, Callable[..., Tensor]]) -> None:
    """Every function must be one of the question's, with as many arguments as it takes."""
    for call in (n for e in system.program.equations for n in walk(e.right) if isinstance(n, Apply)):
        if call.function not in functions:
            has = f"gives {listed([f'`{n}`' for n in functions])}" if functions else "has none"
            stop("extra", f"`{call.function}` is not a function of this question; it {has}.")
        asked = signature(functions[call.function].args[1]).parameters.values()  # type: ignore[attr-defined]
        takes = [p for p in asked if p.default is p.empty]
        if len(takes) != len(call.args) and all(p.kind is p.POSITIONAL_OR_KEYWORD for p in takes):
            names = listed([f"`{p.name}`" for p in takes])
            sentence = f"`{call.function}` takes {len(takes)} arguments, {names}"
            stop("arguments", f"{sentence}, and you gave it {len(call.args)}.")


def _compared(
    system: Equations, reference: str, mistakes: Sequence[Mistake], options: Mapping[str, Any], reads: Reads
) -> Result:
    compared = Equations(reference).compare(system, **options)
    if compared.equal:
        praise = "on random tensors they give the same numbers as the course's."
        return right(f"Your equations are right: {praise}")
    for mistake in mistakes:
        try:
            made = reads(str(mistake.wrong)).compare(system, **{**options, "diagnose": False}).equal
        except NotationError:  # known by its words alone
            continue
        if made:
            return mistaken(mistake.name, mistake.sentence)
    numbers, columns = (compared.got, compared.expected), ("entry", "yours", "right")
    if None in numbers or compared.index is None:
        return Result(False, (compared_finding(compared),))
    entry = f"{compared.tensor}[{','.join(map(str, compared.index))}]"
    return Result(False, (compared_finding(compared),), columns, ((entry, *numbers),))


def _table(value: object) -> Table:
    tensor = torch.as_tensor(value)
    return Table(tuple(tensor.shape), tensor.reshape(-1).tolist())


def _right(oracle: Callable[..., object], case: Case, wanted: Sequence[str]) -> dict[str, Tensor]:
    with torch.no_grad():
        value = oracle(**case)
    if not isinstance(value, Mapping):
        if len(wanted) != 1:
            raise ValueError("an oracle that returns one tensor needs `outputs` to name it")
        value = {wanted[0]: value}
    return {canonical(name): torch.as_tensor(v).detach().double() for name, v in value.items()}


class _Run:
    """The cases of a question, on which systems of equations are run, and what the oracle gives there."""

    def __init__(
        self,
        given: Case | Sequence[Case],
        boundary: Mapping[str, str],
        functions: Mapping[str, Callable[..., Tensor]],
        oracle: Callable[..., object],
        wanted: Sequence[str],
    ):
        self.cases, self.note = float64(given)
        self.boundary, self.functions = boundary, functions
        self.oracle: Callable[[Case], dict[str, Tensor]] = lambda case: _right(oracle, case, wanted)
        self.hosted = on_host(self.cases)
        self.rights = [self.oracle(case) for case in self.hosted]
        self.wanted = list(wanted or self.rights[0])
        # How many axes each tensor has that is given or asked for.
        ranks = {n: v.dim() for n, v in {**self.rights[0], **self.cases[0]}.items() if isinstance(v, Tensor)}
        self.signature = {canonical(n): rank for n, rank in ranks.items() if n not in boundary.values()}

    def judge(self, system: Equations) -> Result:
        _defines(system, self.wanted)
        answers = [self._outputs(system, case) for case in self.cases]
        read = {n for n in self.cases[0] if canonical(n) in system.system.tensors}
        instead = Instead(self.cases, self.oracle, read)
        praise = f"Your equations are right: run on tensors, they give the right numbers{self.note}."
        led = [] if matching() else self._led(system, answers)
        nouns = {name: f"`{name}`" for name in self.wanted}
        result = judge(nouns, answers, self.rights, self.cases, instead, praise, led=led)
        blamed = [name for name, part in result.parts.items() if not part.ok and name not in led]
        if led:  # no findings of their own
            words = f"{listed([f'`{name}`' for name in led])} {'is' if len(led) == 1 else 'are'} wrong because of that."
            findings = combine({name: result.parts[name] for name in blamed}, "").findings
            result = replace(result, findings=(*findings, Finding("other", words)))
        given = {canonical(name): value for name, value in self.cases[0].items()}
        result = replace(result, reading=_reading(system, answers[0], given, blamed))
        if result.ok or any(finding.kind not in PLAIN for finding in result.findings):
            return result

        def look() -> Finding | None:
            likely = self._likely(system, (blamed + led)[0])
            return nearby(system, self._agrees, self.wanted, blamed, self._needed, likely)

        return replace(result, look=cache(look))

    def _local(self, system: Equations, values: dict[str, Table]) -> Local | None:
        """The equations on the first case, entry by entry, where the other tensors have these values; None where they
        cannot be looked at so."""
        case = self.hosted[0]
        inputs = {canonical(n): _table(v) for n, v in case.items() if canonical(n) in system.inputs}
        draw = Draw(0, system.system, engine(), {}, inputs, {}, self.functions, values)
        try:
            start = {n: _table(v) for n, v in self._start(system.system, case).items()}
            draw.boundary = lambda system: dict(start)  # type: ignore[method-assign]
            draw.outside = lambda system, name, axis, away: start[name]  # type: ignore[method-assign]
            return Local(draw, system.system)
        except NotationError:
            return None

    def _led(self, system: Equations, answers: Sequence[Mapping[str, Tensor]]) -> list[str]:
        """The tensors that are wrong because of another one: their own equations, read on the right values of all
        others, give what is right."""
        runs = [*zip(answers, self.rights, strict=True)]
        off = [name for name in self.wanted if not all(close(a[name].to(r[name]), r[name]) for a, r in runs)]
        rights = {name: _table(self.rights[0][name]) for name in self.wanted}
        if len(off) < 2 or (local := self._local(system, rights)) is None:
            return []
        led = []
        for name in off:
            places = sample(rights[name], 6)
            got = None if name in local.private else local.entries(name, places)
            if got is not None and near([rights[name][p] for p in places], got, 1e-5):
                led.append(name)
        return led if len(led) < len(off) else []

    def _likely(self, system: Equations, name: str) -> Callable[[Mutation], bool]:
        """Whether a changed equation gives some entries of the first case as they should be, each computed by itself:
        to check and to plan a whole system takes ten times as long."""
        right_one, local = _table(self.rights[0][name]), self._local(system, {})
        if local is None:
            return lambda change: True
        places = sample(right_one, 3, list(right_one.places())[:1])

        def same(change: Mutation, places: Sequence[Place]) -> bool:
            got = local.entries(name, places, change.new)
            return got is not None and near([right_one[p] for p in places], got, 1e-5)

        return lambda change: same(change, places[:1]) and same(change, places)

    def _needed(self) -> list[str]:
        """The variables that what is right depends on in some case; where a recurrence starts is not written."""

        def moves(name: str, case: Case, right_ones: Mapping[str, Tensor]) -> bool:
            value = case[name]
            with suppress(Exception):
                if isinstance(value, Tensor) and value.is_floating_point():
                    moved = self.oracle({**case, name: value + 1})
                    return not all(close(moved[n], right_ones[n]) for n in self.wanted)
            return False

        names = [name for name in self.cases[0] if name not in self.boundary.values()]
        return [canonical(name) for name in names if any(map(partial(moves, name), self.hosted, self.rights))]

    def _agrees(self, system: Equations) -> bool:
        runs = (self._run(system, case) for case in self.hosted)
        pairs = zip(runs, self.rights, strict=True)
        return all(close(run[n], right[n]) for run, right in pairs for n in self.wanted)

    def _outputs(self, system: Equations, case: Case) -> dict[str, Tensor]:
        try:
            return self._run(system, case)
        except NotationError as error:
            stopped = unreadable(error)
            if "fixes the size" in stopped.sentence:  # of an axis that only an unread tensor has
                stopped = wrong("unused", own="Your equations never read a tensor that is needed.")
            raise Stopped(replace(stopped, outcomes=(Outcome(text=stopped.sentence),))) from None

    def _run(self, system: Equations, case: Case) -> dict[str, Tensor]:
        by_name = {canonical(name): value for name, value in case.items()}
        strange = [name for name in system.inputs if name not in by_name]
        if strange:
            given = ", ".join(f"`{name}`" for name in by_name)
            stop("extra", f"`{strange[0]}` is not a tensor of this question; it gives {given}.")
        _calls(system, self.functions)
        start = self._start(system.system, case)
        return system.run({n: by_name[n] for n in system.inputs}, boundary=start, functions=self.functions)

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
                at = f"`{name}` is read outside its range, at {show(read.indices[axis])}, where this question gives"
                raise fail(system, f"{at} no value (`pad {name}` says that it is zero)", read.span)
            start = case[given[name]]
            if abs(steps) > 1 and isinstance(start, Tensor) and start.dim() < len(read.indices):
                far = f"`{name}` is read {abs(steps)} steps outside its range, and this question gives 1 step there"
                raise fail(system, f"{far}, `{given[name]}`", read.span)
        return {name: case[variable] for name, variable in given.items() if name in system.boundary}
