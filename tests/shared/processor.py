"""How much processor time a group of tests took, its children's with it: unlike the clock, it can be measured on a
machine that others use. `pytest --processor` prints it, the dearest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import psutil
import pytest

DEAR = 1.0  # seconds; what took less is told together


def processor_seconds() -> float:
    """Of this process, of its living descendants and of those that were waited for, since each began."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        try:
            took = process.cpu_times()
        except psutil.Error:  # it ended meanwhile; whoever waited for it has its time
            continue
        total += took.user + took.system + took.children_user + took.children_system
    return total


class Processor:
    def __init__(self, group: Callable[[str], str]) -> None:
        self.group = group
        self.took: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        before = processor_seconds()
        item.user_properties.append(("processor", lambda: processor_seconds() - before))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "teardown":
            seconds = next(value for name, value in item.user_properties if name == "processor")()
            # A browser or server that ends takes its time with it, unless someone waits for it.
            report.user_properties = [("processor", max(seconds, 0.0))]
        else:
            report.user_properties = []
        return report

    def pytest_runtest_logreport(self, report):
        for name, seconds in report.user_properties:
            if name == "processor":
                self.took[self.group(report.nodeid)] += seconds

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("seconds of processor time")
        dear = {name: seconds for name, seconds in self.took.items() if seconds >= DEAR}
        for name, seconds in sorted(dear.items(), key=lambda pair: -pair[1]):
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")
        rest = sum(self.took.values()) - sum(dear.values())
        terminalreporter.write_line(f"{rest:8.1f}  {len(self.took) - len(dear)} others")
        terminalreporter.write_line(f"{sum(self.took.values()):8.1f}  in all")
