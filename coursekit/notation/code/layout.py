"""Lines that are not too long: what stands between brackets moves to lines of its own."""

from __future__ import annotations

# They stand where a line may end, and are never part of what is given out.
SIGN = "\u2028"  # before the sign of a term
COMMA = "\u2029"  # after a comma between arguments
WIDTH = 78


def assignment(left: str, right: str, comment: str = "", indent: int = 4) -> list[str]:
    """`left = right  # comment`, on one line or on several."""
    lines = _lines(f"{left} = ", right, f"  # {comment}" if comment else "", WIDTH - indent)
    return [" " * indent + line for line in lines]


def flat(text: str) -> str:
    """The same on one line."""
    return text.replace(SIGN, " ").replace(COMMA, " ")


def _lines(head: str, text: str, tail: str, width: int) -> list[str]:
    places = [(d, k) for k, (c, d) in enumerate(zip(text, _depths(text), strict=True)) if c in (SIGN, COMMA)]
    if not places or len(flat(head + text + tail)) <= width:
        return [flat(head + text + tail)]
    level, first = min(places)
    if level == 0:
        return _broken(f"{head}(", text, f"){tail}", width)
    depths = _depths(text)
    start = max(k for k in range(first) if depths[k] < level and text[k] in "([")
    stop = next(k for k in range(first, len(text)) if depths[k] < level)
    return _broken(head + text[: start + 1], text[start + 1 : stop], text[stop:] + tail, width)


def _broken(head: str, text: str, tail: str, width: int) -> list[str]:
    """The inside of a pair of brackets on one line, or each of its parts on one."""
    if len(flat(text)) <= width - 4:
        body = [flat(text)]
    else:
        body = [line for part, end in _parts(text) for line in _lines("", part, end, width - 4)]
    return [flat(head), *(f"    {line}" for line in body), flat(tail)]


def _parts(text: str) -> list[tuple[str, str]]:
    """The arguments between brackets, each with its comma; or the terms of the one that stands there."""
    depths = _depths(text)
    outer = {c for c, d in zip(text, depths, strict=True) if d == 0}
    mark, end = (COMMA, ",") if COMMA in outer else (SIGN, "")
    parts, last = [], 0
    for k, char in enumerate(text):
        if char == mark and depths[k] == 0:
            parts.append((text[last:k].removesuffix(end), end))
            last = k + 1
    return [*parts, (text[last:], end)]


def _depths(text: str) -> list[int]:
    """For each character, how many brackets are open around it; a bracket belongs outside itself."""
    depths, open_ = [], 0
    for char in text:
        if char in ")]":
            open_ -= 1
        depths.append(open_)
        if char in "([":
            open_ += 1
    return depths
