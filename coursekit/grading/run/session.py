"""One submission from the examiner's chair: the cells in order, a verdict for each test, restarts in between."""

import builtins
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from .. import wire
from ..confine import sandbox
from ..confine.limits import Limits
from ..wire.channel import MESSAGE, REQUEST, ChannelError, Frames
from .cells import CellRun, CellTimeout, Shell, put_files, stopped_after, told_of
from .examiner import Desk
from .handles import NotRemote
from .names import Ledger, import_statements, names_of
from .outcome import Cell, CellOutcome, Task, TestOutcome
from .peer import random_states, seed_everything
from .verdict import cell_outcome, hold_to_reference, in_candidate_verdict, judge, silence

BUILTINS = set(dir(builtins))
SILENCED = "an error, which is not shown: a test of this course has run where it could be read"
OUTPUT = 8_000_000  # characters of a submission's outputs: the grader's own process holds them all


class Session:
    def __init__(self, frames: Frames, shell: Shell, task: Task, limits: Limits):
        self.frames, self.shell, self.task, self.limits = frames, shell, task, limits
        self.untold: list[tuple[str, Any]] = []
        self.ledger = Ledger()
        self.desk: Desk | None = None
        self.restarts = 0
        self.skipped: set[int] = set()  # cells that killed or outlasted a candidate: not run again
        self.ran: list[int] = []  # given and student's cells, in the order in which they ran
        self.trusted: set[int] = set()  # given cells that ran here
        self.student_given: set[int] = set()  # given cells whose names come from the candidate
        self.injected: set[str] = set()
        self.seeded: dict[str, Any] = {}
        # A test is on the clock as a whole; a little longer, so that a candidate can stop itself first.
        self.own_limits = replace(limits, cell_wall=limits.cell_wall + 2 * limits.grace)
        self.end = time.monotonic() + limits.notebook_wall
        self.room = OUTPUT

    def run(self) -> None:
        put_files(self.task.files)
        seed_everything(self.task.seed)
        self.seeded = random_states()
        for position, cell in enumerate(self.task.cells):
            is_test = cell.role == "test"
            outcome = self._test(position, cell) if is_test else self._cell(position, cell)
            for at, output in enumerate(outcome.outputs):
                self.room -= len(output.data)
                if self.room < 0:
                    del outcome.outputs[at:]
            self.tell("test" if is_test else "cell", asdict(outcome))
        self.tell("done", (self.restarts, sandbox.seconds))

    def tell(self, name: str, data: Any = None) -> None:
        """Tell the grader's own process what happened; what it need not know at once with what comes next."""
        self.untold.append((name, data))
        if name not in ("cell", "log"):
            self.frames.send(REQUEST, 0, wire.encode(self.untold))
            self.untold = []

    # the candidate

    @contextmanager
    def _on_the_clock(self, desk: Desk) -> Iterator[None]:
        """What comes from there is read on the clock too: it may be large, and made to be slow."""
        try:
            with stopped_after(self.own_limits):
                yield
        except (CellTimeout, MemoryError):
            raise desk.misbehaved("an answer that is too much to read") from None

    def _alive(self) -> Desk:
        """The candidate's desk; a new candidate with the earlier cells run again, if the last one is gone."""
        while self.desk is None or self.desk.lost:
            if self.desk is not None:  # the first one is on its way already
                self.desk.frames.sock.close()
                if self.restarts >= self.limits.restarts:
                    raise ChannelError("the student's process ended too often", "exhausted")
                self.restarts += 1
                self.tell("candidate")
            given = set().union(*(names.binds for names in self.ledger.given.values()))
            _, (line, *_), _, _ = socket.recv_fds(self.frames.sock, 1, 1)
            self.desk = Desk(socket.socket(fileno=line), self.shell, self.limits, given, self.seeded)
            position = -1
            try:
                self.desk.command("start", {"files": self.task.files, "seed": self.task.seed})
                for position in self.ran:
                    if position not in self.skipped:
                        with self._on_the_clock(self.desk):
                            self.desk.command("run", self.task.cells[position].source)
            except ChannelError:  # found again by the loop
                self.skipped.add(position)
        return self.desk

    def _cell(self, position: int, cell: Cell) -> CellOutcome:
        self._note(position, cell)
        if time.monotonic() > self.end:
            return CellOutcome(cell.id, cell.role, "skipped", "the notebook's time was up")
        try:
            desk = self._alive()
            desk.fault = None
            with self._on_the_clock(desk):
                reply = desk.run(cell.source)
        except ChannelError as fault:
            self.skipped.add(position)
            status = {"exhausted": "skipped", "timeout": "timeout"}.get(fault.status, "died")
            return CellOutcome(cell.id, cell.role, status, fault.reason)
        outcome = cell_outcome(cell, reply)
        if desk.saw_a_test:
            error = SILENCED if outcome.error else ""
            outcome = replace(outcome, error=error, outputs=[], raised="", line=0)
        self.ran.append(position)
        if outcome.status == "timeout":
            self.skipped.add(position)
        if cell.role != "given" or position in self.student_given:
            for name in reply["names"][:10_000]:
                if type(name) is str and name.isidentifier():
                    self.ledger.student[name] = position
        return outcome

    def _note(self, position: int, cell: Cell) -> None:
        """What this cell means for where names come from."""
        if cell.role == "given" and not cell.in_candidate:
            names = self.ledger.given[position] = names_of(cell.source)
            self.ledger.trusted |= dict.fromkeys(names.binds, position)
        elif cell.role == "given":
            self.student_given.add(position)
            self.ledger.allowed |= names_of(cell.source).binds
        elif cell.reference:
            self.ledger.strict = True
            names = names_of(cell.reference)
            self.ledger.allowed |= names.binds - names.imports
            self.shell.run(import_statements(cell.reference), self.own_limits)
            self.ledger.trusted.update(dict.fromkeys(names.imports, position))

    # the tests

    def _test(self, position: int, cell: Cell) -> TestOutcome:
        start = time.perf_counter()
        weaker = cell.in_candidate
        try:
            if time.monotonic() > self.end:
                raise ChannelError("the notebook's time was up", "notebook")
            desk = self._alive()
            desk.fault, desk.looks, desk.leans, desk.may = None, 0, set(), frozenset(cell.leans or ())
            if weaker:
                desk.saw_a_test = cell.mode != "own"
                with self._on_the_clock(desk):
                    reply = desk.run(cell.source)
                outcome = in_candidate_verdict(cell, reply)
            else:
                outcome = self._remote(position, cell, desk)
        # The latter comes from a name that is a set of objects and numbers.
        except (ChannelError, NotRemote) as fault:
            outcome = judge(cell, CellRun(), fault, {}, set())
        outcome.weaker = outcome.weaker or weaker
        if self.desk is not None and self.desk.saw_a_test:
            silence(cell, outcome)
        outcome.seconds = time.perf_counter() - start
        return outcome

    def _remote(self, position: int, cell: Cell, desk: Desk) -> TestOutcome:
        names = names_of(cell.source)
        for earlier in self.ledger.needed(names):
            if earlier not in self.trusted:
                self.trusted.add(earlier)
                source = self.task.cells[earlier].source
                self._bind(self.ledger.reach(names_of(source).mentions), desk)
                self._trusted_cell(earlier, source, desk)
        refused = self._bind(self.ledger.reach(names.mentions), desk)
        done = self.shell.run(cell.source, self.own_limits)
        self.ledger.trusted.update(dict.fromkeys(done.names, position))
        self.injected -= set(done.names)
        outcome = judge(cell, done, desk.fault, refused, self.ledger.allowed)
        outcome.leans = sorted(desk.leans)
        hold_to_reference(cell, outcome)
        outcome.weaker |= any(self.ledger.student.get(name) in self.student_given for name in self.injected)
        return outcome

    def _trusted_cell(self, position: int, source: str, desk: Desk) -> None:
        """Run a given cell here. What it cannot do from here is no fault of the test that comes after it."""
        done = self.shell.run(source, self.own_limits)
        self.ledger.trusted |= {n: max(position, self.ledger.trusted.get(n, -1)) for n in done.names}
        if done.error is not None:
            words = told_of(done.error)["error"]
            self.tell("log", f"given cell {position + 1} did not run in the examiner: {words[:300]}")
            if isinstance(desk.fault, NotRemote):
                desk.fault = None

    def _bind(self, wanted: set[str], desk: Desk) -> dict[str, str]:
        """Put the student's names that are wanted into the namespace, and take out those of before."""
        asked = self.ledger.from_student(wanted, BUILTINS)
        for name in self.injected - set(asked):
            self.shell.namespace.pop(name, None)
        with self._on_the_clock(desk):
            values, refused = desk.fetch(asked) if asked else ({}, {})
        self.shell.namespace.update(values)
        self.injected = set(values)
        return refused


def main(sock: socket.socket, shell: Shell, limits: Limits) -> None:
    frames = Frames(sock, MESSAGE)
    try:
        data = wire.decode(frames.receive()[2])
        task = Task(**data | {"cells": tuple(Cell(**cell) for cell in data["cells"])})
        Session(frames, shell, task, limits).run()
    except ChannelError:
        pass  # the grader's own process is gone
    except BaseException as error:
        frames.send(REQUEST, 0, wire.encode([("log", f"the examiner broke: {told_of(error)['error']}")]))
        raise
    finally:
        os._exit(0)
