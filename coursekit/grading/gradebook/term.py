"""The facts of a term, kept in the gradebook beside the grades: late policies, extensions, the class, what was refused.

A due date is nbgrader's own (`duedate` of the assignment). What nbgrader has no place for stands in one table of
facts, each with its reason and its time; a later fact of the same kind takes the place of the earlier. A penalty is
no fact: it is computed from these whenever a total is read, over all points.
"""

import datetime
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from unicodedata import category

from sqlalchemy import Engine, delete, insert, select

from ..errors import GradingError
from .export import read_rows
from .tables import ASSIGNMENT, FACTS, rows

_GROUPS = ("grup", "group", "groep")  # how the word for them begins, in small letters
_NUMBERS = ("id number", "id-nummer", "numéro d", "número de id", "codice id", "id-nr")
# Canvas's own test student, as name;login: the login is a hash, or not shown.
_TEST_STUDENT = re.compile(r"Student, Test;|.*;[0-9a-f]{40}")
_POLICY = re.compile(r"(\d+(?:\.\d+)?)\s*%\s*(?:a|per)\s*(hour|day)(?:\s*after\s*(\d+)\s*h)?")


@dataclass(frozen=True)
class Lateness:
    """What decides how late a work is. `percent` of the score is lost for each `unit` begun after the due time and the
    grace; who has an extension has another due time."""

    percent: float = 0.0
    unit: str = "day"
    grace_hours: float = 0.0
    due: datetime.datetime | None = None
    extensions: Mapping[str, datetime.datetime] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> "Lateness":
        """`"10% a day after 1h"`; nothing is lost by an empty one."""
        match = _POLICY.fullmatch(text.strip())
        if text and not match:
            raise GradingError(f"{text!r} is not a late policy; write for example '10% a day after 1h'")
        return cls(float(match[1]), match[2], float(match[3] or 0)) if match else cls()

    def penalty(self, student: str, score: float, when: datetime.datetime | None) -> float:
        due = self.extensions.get(student, self.due)
        if not (self.percent and when and due):
            return 0.0
        hours = max(0.0, (aware(when) - aware(due)).total_seconds() / 3600 - self.grace_hours)
        units = math.ceil(hours / (24 if self.unit == "day" else 1))
        return round(score * min(1.0, units * self.percent / 100), 6)


@dataclass(frozen=True)
class Person:
    """One of the class. `student` is the id that grades are kept under."""

    student: str
    name: str = ""
    email: str = ""
    group: str = ""

    @property
    def groups(self) -> list[str]:
        """Moodle and Canvas write several into one cell."""
        return [one for one in map(str.strip, re.split("[,;]", self.group)) if one]


class Term:
    def __init__(self, engine: Engine):
        self.engine = engine

    def say(self, kind: str, assignment: str, student: str, value: str, why: str = "") -> None:
        self.say_all(kind, [(assignment, student, value)], why)

    def say_all(
        self, kind: str, facts: Iterable[tuple[str, str, str]], why: str = "", anew: bool = False
    ) -> None:
        """Facts as (assignment, student, value), all or none. `anew`: there are no others of their kind."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with self.engine.begin() as connection:
            if anew:
                connection.execute(delete(FACTS).filter_by(kind=kind))
            for assignment, student, value in facts:
                key = {"kind": kind, "assignment": assignment, "student": student}
                connection.execute(delete(FACTS).filter_by(**key))
                connection.execute(insert(FACTS).values(**key, value=value, why=why, at=now))

    def told(self, kind: str, assignment: str | None = None) -> dict[str, str]:
        """student -> value; "" is everybody. Of one assignment, or of all together."""
        query = select(FACTS.c.student, FACTS.c.value).filter_by(kind=kind)
        if assignment is not None:
            query = query.filter_by(assignment=assignment)
        return dict(rows(self.engine, query))

    def rule(self, kind: str, assignment: str) -> str:
        """What holds for everybody; "" where nothing was decided."""
        return self.told(kind, assignment).get("", "")

    def share(self, together: Mapping[str, list[str]], done: Iterable[tuple[str, str]]) -> None:
        """Keep who handed in with whom; of whom the source says nothing, what was known stays."""
        known = [(name, student) for student, name in done if student in together]
        self.say_all("together", [(name, one, json.dumps(together[one])) for name, one in known])

    def lateness(self, assignment: str) -> Lateness:
        """What decides how late a work is, as it stands now."""
        given = self.told("extension", assignment).items()
        later = {student: datetime.datetime.fromisoformat(value) for student, value in given}
        found = rows(self.engine, select(ASSIGNMENT.c.duedate).filter_by(name=assignment))
        late = Lateness.read(self.rule("late", assignment))
        return replace(late, due=found[0].duedate if found else None, extensions=later)

    def people(self) -> list[Person]:
        return [Person(**json.loads(value)) for value in self.told("person").values()]

    def enrol(self, people: Iterable[Person]) -> None:
        """The class as it is from now on; who is no longer in the list leaves it, with their grades kept."""
        self.say_all("person", [("", one.student, json.dumps(asdict(one))) for one in people], anew=True)


def later(text: str, due: datetime.datetime | None) -> datetime.datetime:
    """`+3d`, `+12h` after the due time, or a time."""
    match = re.fullmatch(r"\+(\d+)\s*([dh])", text.strip())
    if match is None:
        return time_of(text)
    if due is None:
        words = f"{text} is counted from the due time, and none is set"
        raise GradingError(f"{words}: set it with `coursekit due`, or give a time")
    return aware(due) + datetime.timedelta(hours=int(match[1]) * (24 if match[2] == "d" else 1))


def aware(time: datetime.datetime) -> datetime.datetime:
    """With a zone: UTC where it has none, as nbgrader keeps its times."""
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def in_utc(time: datetime.datetime) -> str:
    return f"{aware(time).astimezone(datetime.UTC):%Y-%m-%d %H:%M} UTC"


def time_of(text: str) -> datetime.datetime:
    try:
        return aware(datetime.datetime.fromisoformat(text))
    except ValueError:
        raise GradingError(f"{text!r} is not a time; write 2026-11-16T23:59+01:00") from None


def read_roster(text: str) -> list[Person]:
    """A class list: Canvas's exported gradebook, Moodle's list of participants in any language, or columns id, name,
    email, group."""
    lines = read_rows(text, "the class list has nobody in it")
    head = [title.strip().lower() for title in lines[0]]
    people = [dict(zip_longest(head, map(str.strip, row[: len(head)]), fillvalue="")) for row in lines[1:]]
    mail = next((title for title in head if all("@" in p[title] for p in people)), "")
    if "id" in head and ("student" in head or "lastname" in head):  # Canvas
        made = [_of_canvas(p) for p in people if p["id"].isdigit()]
        made = [p for p in made if not _TEST_STUDENT.fullmatch(f"{p.name};{p.email}")]
    elif "id" in head:
        made = [Person(*(p.get(k, "") for k in ("id", "name", "email", "group"))) for p in people if p["id"]]
    elif mail:
        made = [_of_moodle(p, head, mail) for p in people]
    else:
        raise GradingError(
            "the class list needs a column `id` (and, if you like, name, email, group), or must be Canvas's exported "
            f"gradebook or Moodle's list of participants; it has {', '.join(lines[0])}"
        )
    twice = sorted(student for student, times in Counter(p.student for p in made).items() if times > 1)
    if twice:
        names = ", ".join(twice[:5])
        raise GradingError(f"the class list has {names} more than once; an id must be one person's")
    return made


def _of_canvas(row: dict[str, str]) -> Person:
    """Its downloads call "Lovelace, Ada" lovelaceada, with every letter and every mark of one."""
    name = row.get("student") or f"{row['lastname']}, {row['firstname']}"
    folded = "".join(c for c in name.lower() if c == "_" or category(c)[0] in "LMN")
    own = f"{folded} ({row['id']})"
    return Person(own, name, row.get("sis login id", ""), row.get("group", ""))


def _of_moodle(row: dict[str, str], head: list[str], mail: str) -> Person:
    """Of Moodle's columns the address is known by its content, the groups and the number by their names."""
    number = next((row[title] for title in head if title.startswith(_NUMBERS)), "")
    group = next((row[title] for title in head if title.startswith(_GROUPS)), "")
    return Person(number or row[mail], " ".join(row[title] for title in head[:2]).strip(), row[mail], group)
