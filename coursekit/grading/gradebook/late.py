"""Late work: how many points it loses, by a policy, from a time that the student could not set."""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass

from ..errors import GradingError

_POLICY = re.compile(
    r"(?P<percent>\d+(?:\.\d+)?)\s*%\s*(?:a|per)\s*(?P<unit>hour|day)(?:\s*after\s*(?P<grace>\d+)\s*h)?"
)


@dataclass(frozen=True)
class LatePolicy:
    """`percent` of the score for each `unit` begun after the due time and the grace."""

    percent: float = 0.0
    unit: str = "day"
    grace_hours: float = 0.0

    @classmethod
    def read(cls, text: str) -> LatePolicy:
        """`"10% a day after 1h"`; nothing is lost by an empty one."""
        match = _POLICY.fullmatch(text.strip())
        if text and not match:
            raise GradingError(f"{text!r} is not a late policy; write for example '10% a day after 1h'")
        if match is None:
            return cls()
        return cls(float(match["percent"]), match["unit"], float(match["grace"] or 0))

    def penalty(self, score: float, when: datetime.datetime | None, due: datetime.datetime | None) -> float:
        if not (self.percent and when and due):
            return 0.0
        hours = (aware(when) - aware(due)).total_seconds() / 3600 - self.grace_hours
        if hours <= 0:
            return 0.0
        units = math.ceil(hours / (24 if self.unit == "day" else 1))
        return round(score * min(1.0, units * self.percent / 100), 6)


def aware(time: datetime.datetime) -> datetime.datetime:
    """With a zone: UTC where it has none, as nbgrader keeps its times."""
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
