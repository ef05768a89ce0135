"""A mistake opens its own sentence: the outcome of a wrong answer is the key that its sentence is locked with.

Release runs each of the author's mistakes through the visible check and makes `boxes = lock([(name, sentence,
outcomes), …], salt="bptt/grads_t")`. In the notebook, `checks.gradients(…).named(boxes)`: whoever makes the mistake
holds its key, and nobody else can read the sentence. Nothing of the answer is in the boxes. They are text, in the
notebook or in the package, `coursekit/checks/said/bptt.json`; then the notebook says `.named("bptt/grads_t")`.

An outcome is what the answer comes to on the visible cases: numbers, or a normal form, a chosen set, an error. Of
many numbers the norm and a few fixed projections are kept, each in buckets wide against float32's rounding; where
one lies near an edge, both neighbours are tried, so that another machine's last digits do not matter. A key is
made by scrypt. Where an outcome could be guessed (a number, a formula) it is slow: see `hours`.
"""

import hashlib
import hmac
import json
import math
import secrets
from base64 import b85decode, b85encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import islice, product
from pathlib import Path
from typing import Any

QUICK, SLOW = 10, 14  # scrypt's cost, as a power of two
SECONDS = 0.02  # that a slow key takes on a quick core, for `hours`; twice that is common
WIDTH, REACH = 4e-4, 3e-5  # of a bucket, and what float32 may move a number, relative to the outcome's norm
PROJECTIONS = 3
MANY = 3  # from so many numbers on an outcome cannot be guessed
MOST = 16  # keys that are tried for one outcome
SLIP = "slip: "  # before the name of a mistake that no author wrote down
_TAG, _ID = 6, 16  # bytes


@dataclass(frozen=True)
class Outcome:
    """What an answer, or one part of it, comes to. `reach` is the absolute error within which a number counts as
    this one; without it numbers are compared relative to their norm. `text` must be equal."""

    part: str = ""
    text: str = ""
    numbers: tuple[float, ...] = ()
    reach: float | None = None


@dataclass(frozen=True)
class Named:
    """A mistake that was recognised, and the parts of the answer that show it."""

    name: str
    sentence: str
    parts: tuple[str, ...] = ()


def lock(mistakes: Iterable[tuple[str, str, Sequence[Outcome]]], salt: str) -> str:
    """The sentences of (name, sentence, outcomes), each locked with its outcomes: text for `unlock`.

    `outcomes` are those of the visible check's result on the mistaken answer, `result.outcomes`. A mistake that the
    visible check does not see has none, and stays silent. The same input gives the same text, on every machine.
    """
    records: list[bytes] = []
    bodies: dict[bytes, int] = {}  # a slip may be made in many ways: its sentence is kept once
    sealed = []
    for name, sentence, outcomes in mistakes:
        parts = [outcome.part for outcome in outcomes]
        if not outcomes:
            continue
        plain = "\n".join((name, "\0".join(parts), sentence)).encode()
        secret = hashlib.sha256(b"\0".join((b"sentence", salt.encode(), plain))).digest()[:_ID]
        if plain not in bodies:
            bodies[plain] = len(bodies)
            sealed.append(_seal(secret, _mix(secret, plain)))
        number = bodies[plain]
        if number > 255:
            raise ValueError("one question can lock at most 256 sentences")
        for outcome in outcomes:
            key = _key(salt, next(_tokens(outcome, salt)), outcome)
            records.append(_tag(key) + _mix(key + bytes([number]), secret + bytes([number])))
    packed = len(records).to_bytes(2, "big") + b"".join(sorted(records))
    packed += b"".join(len(body).to_bytes(2, "big") + body for body in sealed)
    return "$".join(("said", salt, b85encode(packed).decode().replace("$", '"')))


def unlock(boxes: str, outcomes: Sequence[Outcome]) -> list[Named]:
    """The mistakes that these outcomes show; none where two explain them equally well."""
    salt, records, bodies = _read(boxes)
    found: dict[Named, list[str]] = {}  # a mistake, and the parts whose outcome opened its box
    for outcome in outcomes:
        for token in islice(_tokens(outcome, salt), MOST):
            key = _key(salt, token, outcome)
            opened = [m for r in records if r[:_TAG] == _tag(key) and (m := _open(key, r[_TAG:], bodies))]
            for mistake in opened:
                found.setdefault(mistake, []).append(outcome.part)
            if opened:
                break
    return _told(found, outcomes)


def alike(outcomes: Sequence[Outcome], mistakes: Iterable[tuple[str, str, Sequence[Outcome]]]) -> list[Named]:
    """As `unlock`, where the mistakes themselves are at hand."""
    mine = {outcome.part: set(islice(_tokens(outcome, ""), MOST)) for outcome in outcomes}
    found: dict[Named, list[str]] = {}
    for name, sentence, theirs in mistakes:
        same = [o.part for o in theirs if next(_tokens(o, "")) in mine.get(o.part, ())]
        if same:
            found[Named(name, sentence, tuple(o.part for o in theirs))] = same
    return _told(found, outcomes)


def _told(found: dict[Named, list[str]], outcomes: Sequence[Outcome]) -> list[Named]:
    """Of the mistakes that some parts look like, those that were made."""
    wrong = {outcome.part for outcome in outcomes}
    # A mistake that would spoil a part which is right was not made: only one part of it looks alike.
    found = {mistake: parts for mistake, parts in found.items() if wrong.issuperset(mistake.parts)}
    # What an author wrote down goes before a slip that comes to the same but for rounding.
    named = [set(parts) for mistake, parts in found.items() if not mistake.name.startswith(SLIP)]
    for mistake, parts in list(found.items()):
        if mistake.name.startswith(SLIP) and any(same.issuperset(parts) for same in named):
            del found[mistake]
    whole = [m for m, parts in found.items() if set(parts) == wrong == set(m.parts)]
    if whole:
        return whole if len(whole) == 1 else []
    shown = []
    while found:
        best = max(map(len, found.values()))
        first, *leading = [m for m, parts in found.items() if len(parts) == best]
        here = set(found[first])
        if not any(set(found[m]) & here for m in leading):
            shown.append(Named(first.name, first.sentence, tuple(found[first])))
        found = {m: left for m, parts in found.items() if (left := [p for p in parts if p not in here])}
    return shown


def kept(name: str) -> str:
    """The boxes that the package keeps under "assignment/question"; empty where it keeps none."""
    assignment, _, question = name.partition("/")
    file = Path(__file__).parent.parent / "said" / f"{assignment}.json"
    return json.loads(file.read_text(encoding="utf-8")).get(question, "") if file.exists() else ""


def hours(outcome: Outcome) -> float:
    """How many hours one core needs to meet a number by trying all from zero up; infinite where that is no way."""
    if outcome.reach is None or len(outcome.numbers) != 1:
        return math.inf
    return abs(outcome.numbers[0]) / (2 * outcome.reach) * SECONDS / 3600


@lru_cache(maxsize=512)
def slow(salt: str, token: str, cost: int) -> bytes:
    """A key that takes its time; kept, since the digest of the right answer and the boxes ask for the same ones."""
    return hashlib.scrypt(token.encode(), salt=salt.encode(), n=1 << cost, r=8, p=1, maxmem=1 << 27, dklen=32)


def buckets(number: float, reach: float, width: float = 0.0) -> list[int]:
    """The buckets, by default two reaches wide, under the number's own interval; its own bucket first."""
    wide = width or 2 * reach
    return list(dict.fromkeys(math.floor((number + step) / wide) for step in (0, -reach, reach)))


def _key(salt: str, token: str, outcome: Outcome) -> bytes:
    cost = QUICK if len(outcome.numbers) >= MANY and outcome.reach is None else SLOW
    return hashlib.sha256(slow(salt, token, cost) + outcome.part.encode()).digest()


def _tokens(outcome: Outcome, salt: str) -> Iterator[str]:
    """The outcome in words, as it is and with each number that lies near an edge in the neighbouring bucket."""
    if not outcome.numbers:
        yield outcome.text
        return
    if outcome.reach is not None:
        choices = [buckets(number, outcome.reach) for number in outcome.numbers]
    else:
        choices = [buckets(number, REACH, WIDTH) for number in _features(outcome.numbers, salt)]
    for chosen in product(*choices):
        yield "\n".join((outcome.text, " ".join(map(str, chosen))))


def _features(numbers: Sequence[float], salt: str) -> list[float]:
    """The count, the logarithm of the norm, projections of the direction: a fingerprint that rounding hardly moves."""
    import numpy

    vector = numpy.asarray(numbers, dtype=numpy.float64)
    odd = ~numpy.isfinite(vector)
    vector = numpy.where(odd, 0.0, vector)
    norm = math.sqrt(math.fsum(vector * vector))
    seed = int.from_bytes(hashlib.sha256(salt.encode()).digest()[:4], "big")
    weights = numpy.random.RandomState(seed).uniform(-1, 1, (len(vector), PROJECTIONS))
    along = [math.fsum(vector * weights[:, n]) / norm if norm else 0.0 for n in range(PROJECTIONS)]
    lost = math.fsum((numpy.nonzero(odd)[0] + 1).tolist())
    middle = WIDTH / 2  # whole numbers stand in the middle of a bucket
    return [len(vector) + middle, lost + middle, math.log(norm) if norm else -1e3 + middle, *along]


def _read(boxes: str) -> tuple[str, list[bytes], list[bytes]]:
    try:
        mark, salt, text = boxes.split("$")
        packed = BytesIO(b85decode(text.replace('"', "$")))
    except (AttributeError, ValueError):
        mark = ""
    if mark != "said":
        raise ValueError("these are no locked sentences: they are made by `coursekit release`")
    records = [packed.read(_TAG + _ID + 1) for _ in range(int.from_bytes(packed.read(2), "big"))]
    return salt, records, [*iter(lambda: packed.read(int.from_bytes(packed.read(2), "big")), b"")]


def _open(key: bytes, record: bytes, bodies: Sequence[bytes]) -> Named | None:
    for number, body in enumerate(bodies):
        secret = _mix(key + bytes([number]), record)
        if secret[_ID] == number and hmac.compare_digest(body, _seal(secret[:_ID], body[8:])):
            name, parts, sentence = _mix(secret[:_ID], body[8:]).decode().split("\n", 2)
            return Named(name, sentence, tuple(parts.split("\0")))
    return None


def _tag(key: bytes) -> bytes:
    return hashlib.sha256(b"tag" + key).digest()[:_TAG]


def _seal(secret: bytes, hidden: bytes) -> bytes:
    return hmac.digest(secret, hidden, "sha256")[:8] + hidden


def _mix(key: bytes, data: bytes) -> bytes:
    """The data with the key's stream laid over it; the same again takes it off."""
    stream = hashlib.shake_256(b"stream" + key).digest(len(data))
    return bytes(a ^ b for a, b in zip(data, stream, strict=True))


def digest(value: Any, *, within: float | None = None, salt: str | None = None, anyway: bool = False) -> str:
    """An answer that a visible check can recognise and not show, a number or a `ClosedForm`: its slow hash, with the
    salt and, for a number, the error to accept. Of few options, as a choice has them, all could be tried.

    A number that one core finds in less than an hour is refused, unless `anyway`.
    """
    salt = secrets.token_hex(4) if salt is None else salt
    if "$" in salt:
        raise ValueError("a salt must not contain a dollar sign")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if within is None or not within > 0:
            raise ValueError("the digest of a number needs `within`, the error to accept")
        kind, reach, outcome = (
            "number",
            repr(float(within)),
            Outcome(numbers=(float(value),), reach=float(within)),
        )
        if hours(outcome) < 1 and not anyway:
            raise ValueError(
                f"{value:g} within {within:g} is found by trying in {60 * hours(outcome):.0f} minutes: ask for more "
                f"digits (within {within * hours(outcome):.1g}), or leave it to the grader"
            )
    elif callable(getattr(value, "value", None)):
        kind, reach, outcome = "formula", "", Outcome(text=formula_text(value))
    else:
        raise ValueError("only a number or a formula has a digest: of few options all can be tried")
    return "$".join((kind, salt, reach, _hash(salt, next(_tokens(outcome, salt)))))


def is_digest(value: object, kind: str) -> bool:
    return isinstance(value, str) and value.startswith(f"{kind}$") and value.count("$") == 3


def matches(outcome: Outcome, digest: str) -> bool:
    """Of a number always true within the tolerance, always false beyond three times it: the hidden one lies in a bucket
    two tolerances wide, and a number within reach of it has that bucket under its own interval."""
    _, salt, _, hashed = digest.split("$")
    return any(_hash(salt, token) == hashed for token in _tokens(outcome, salt))


def _hash(salt: str, token: str) -> str:
    return "~" + hashlib.sha256(slow(salt, token, SLOW)).hexdigest()[:20]


def formula_text(form: Any) -> str:
    """The formula's value at four places where the symbols have distinct prime sizes."""
    primes = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    values = []
    for shift in range(4):
        sizes = {name: primes[(n + 3 * shift) % len(primes)] for n, name in enumerate(form.symbols)}
        values.append(f"{form.value(**sizes):.11e}")
    return " ".join(values)
