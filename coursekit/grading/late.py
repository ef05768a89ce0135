"""Late work: how many points it loses, by a policy, from a time that the student could not set."""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass

from .errors import GradingError

_POLICY = re.compile(
    r"(?P<percent>\d+(?:\.\d+)?)\s*%\s*(?:a|per)\s*(?P<unit>hour|day)(?:\s*after\s*(?P<grace>\d+)\s*h)?"
)


@dataclass(frozen=True)
class LatePolicy:
    """`percent` of the score for each `unit` begun after the due time and the grace."""

    percent: float = 0.0
    unit: str = "day"
    grace_hours: float = 0.0
    due: datetime.datetime | None = None

    @classmethod
    def read(cls, text: str, due: str = "") -> LatePolicy:
        """`"10% a day after 1h"`; due is an ISO time, and UTC where it has no zone."""
        try:
            when = datetime.datetime.fromisoformat(due) if due else None
        except ValueError:
            raise GradingError(f"--due {due!r} is not a time; write 2026-11-16T23:59+01:00") from None
        match = _POLICY.fullmatch(text.strip())
        if text and not match:
            raise GradingError(f"--late {text!r} is not a policy; write for example '10% a day after 1h'")
        if match is None:
            return cls(due=when)
        return cls(float(match["percent"]), match["unit"], float(match["grace"] or 0), when)

    def penalty(
        self, score: float, when: datetime.datetime | None, due: datetime.datetime | None = None
    ) -> float:
        due = self.due or due
        if not (self.percent and when and due):
            return 0.0
        aware = [t if t.tzinfo else t.replace(tzinfo=datetime.UTC) for t in (when, due)]
        hours = (aware[0] - aware[1]).total_seconds() / 3600 - self.grace_hours
        if hours <= 0:
            return 0.0
        units = math.ceil(hours / (24 if self.unit == "day" else 1))
        return round(score * min(1.0, units * self.percent / 100), 6)
