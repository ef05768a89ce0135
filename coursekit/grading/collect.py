"""Find the submissions in whatever an instructor has: files, folders, downloads of Canvas, Moodle, Gradescope.

Nothing of a submission is trusted here: names, sizes, links and archives are checked before a byte is
kept, and what is refused is refused with a sentence while the rest goes on.
"""

from __future__ import annotations

import datetime
import io
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import yaml

from .errors import GradingError

MB = 1 << 20
LARGEST_FILE = 20 * MB  # a notebook with many pictures has a few MB
LARGEST_TOTAL = 100 * MB  # of one submission
MOST_FILES = 200
DEEPEST_ZIP = 2  # a class's archive may hold one archive a student

# "First Last_12345_assignsubmission_file_" is a folder of Moodle's download, one a student.
MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?$")
# "lastfirst_LATE_123_4567_Copy of bptt.ipynb" is a file of Canvas's download.
CANVAS = re.compile(
    r"^(?P<student>[^_]+)(?:_(?P<late>LATE))?_(?P<user>\d+)_(?P<submission>\d+)_(?P<file>.+)$"
)


@dataclass
class Submission:
    """One student's work, as handed in. `when` is a time that the student could not set, or None."""

    student: str
    origin: str
    files: dict[str, bytes] = field(default_factory=dict)
    when: datetime.datetime | None = None
    late: bool = False

    @property
    def notebooks(self) -> dict[str, bytes]:
        return {name: data for name, data in self.files.items() if name.lower().endswith(".ipynb")}


@dataclass(frozen=True)
class Refusal:
    """Something that was not collected, and why."""

    student: str
    origin: str
    sentence: str


class _Refused(Exception):
    pass


@dataclass
class Collection:
    submissions: list[Submission] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    def add(self, student: str, origin: str, name: str, read, when=None, late=False) -> None:
        """Keep one file of a student's, or note why not; `read()` gives its bytes."""
        try:
            data = read()
        except (_Refused, OSError, zipfile.BadZipFile, RuntimeError, EOFError) as error:
            self.refusals.append(Refusal(student, origin, str(error)))
            return
        if zipfile.is_zipfile(io.BytesIO(data)):
            self._unpack(student, origin, data, when, late)
            return
        entry = next((s for s in self.submissions if s.student == student), None)
        if entry is None:
            entry = Submission(student, origin)
            self.submissions.append(entry)
        while name in entry.files:
            name = f"{PurePosixPath(name).stem} (again){PurePosixPath(name).suffix}"
        if len(entry.files) >= MOST_FILES or sum(map(len, entry.files.values())) + len(data) > LARGEST_TOTAL:
            self.refusals.append(
                Refusal(student, origin, f"{name}: more files than a submission may have; it was left out")
            )
            return
        entry.files[name] = data
        entry.when = max(filter(None, (entry.when, when)), default=None)
        entry.late = entry.late or late

    def _unpack(self, student: str, origin: str, data: bytes, when, late: bool) -> None:
        """A student who handed in an archive: its files are theirs. An archive inside it is refused."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member, read in _members(archive):

                def plain(read=read, member=member):
                    inner = read()
                    if zipfile.is_zipfile(io.BytesIO(inner)):
                        raise _Refused(
                            f"{origin}: {member} is an archive inside an archive; it was not opened"
                        )
                    return inner

                self.add(student, f"{origin}:{member}", PurePosixPath(member).name, plain, when, late)


def collect(paths: list[Path]) -> Collection:
    """Everything below the paths that looks like a submission."""
    found = Collection()
    for path in paths:
        if not path.exists():
            raise GradingError(f"{path} does not exist: name a notebook, a folder or a downloaded zip")
        if path.is_dir():
            _folder(path, found)
        elif zipfile.is_zipfile(path):
            _archive(path, found)
        else:
            found.add(_from_name(path), str(path), path.name, _reader(path), _mtime(path))
    return found


# ── folders ──────────────────────────────────────────────────────────────────────────────────


def _folder(root: Path, found: Collection) -> None:
    if (root / "submission_metadata.yml").is_file():
        _gradescope(root, found)
        return
    children = sorted(p for p in root.iterdir() if not p.name.startswith("."))
    if any(MOODLE.match(p.name) for p in children if p.is_dir()):
        for folder in children:
            match = MOODLE.match(folder.name)
            if match and folder.is_dir() and not folder.is_symlink():
                _files(folder, f"{match['name']} ({match['id']})", found)
        return
    for child in children:
        if child.is_dir() and not child.is_symlink():
            # nbgrader's submitted/<student>/<assignment>/…, or simply a folder a student
            _files(child, child.name, found)
        elif child.suffix.lower() in (".ipynb", ".zip") or child.is_symlink():
            canvas = CANVAS.match(child.name)
            student = canvas["student"] if canvas else _from_name(child)
            name = canvas["file"] if canvas else child.name
            found.add(
                student, str(child), name, _reader(child), _mtime(child), bool(canvas and canvas["late"])
            )


def _files(folder: Path, student: str, found: Collection) -> None:
    # nbgrader writes the time of collection here; anywhere else such a file is the student's own
    stamp = next(iter(sorted(folder.glob("*/timestamp.txt"))), None)
    when = _timestamp(stamp) if stamp else None
    for here, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name != "timestamp.txt":
                path = Path(here) / name
                found.add(student, str(path), name, _reader(path), when or _mtime(path))


def _gradescope(root: Path, found: Collection) -> None:
    """Gradescope's export: a folder a submission, and a YAML file that says whose it is and when it came."""
    metadata = yaml.safe_load((root / "submission_metadata.yml").read_text(encoding="utf-8")) or {}
    for folder in sorted(p for p in root.iterdir() if p.is_dir() and not p.is_symlink()):
        entry = metadata.get(folder.name) or {}
        people = entry.get(":submitters") or entry.get("submitters") or [{}]
        person = people[0]
        student = person.get(":email") or person.get("email") or person.get(":name") or folder.name
        before = len(found.submissions)
        _files(folder, student, found)
        created = entry.get(":created_at") or entry.get("created_at")
        for submission in found.submissions[before:]:
            submission.when = created if isinstance(created, datetime.datetime) else submission.when


# ── archives ─────────────────────────────────────────────────────────────────────────────────


def _archive(path: Path, found: Collection) -> None:
    """A class's download: Canvas puts all files side by side, Moodle a folder a student."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise GradingError(f"{path} is not a zip file that can be read: {error}") from error
    with archive:
        for member, read in _members(archive):
            place = PurePosixPath(member)
            origin = f"{path}:{member}"
            when = _zip_time(archive.getinfo(member))
            moodle = next((m for m in map(MOODLE.match, place.parts[:-1]) if m), None)
            canvas = CANVAS.match(place.name)
            if moodle:
                found.add(f"{moodle['name']} ({moodle['id']})", origin, place.name, read, when)
            elif canvas:
                found.add(canvas["student"], origin, canvas["file"], read, when, bool(canvas["late"]))
            elif len(place.parts) > 1:
                found.add(place.parts[0], origin, place.name, read, when)
            else:
                found.add(_from_name(Path(place.name)), origin, place.name, read, when)


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[str, object]]:
    """The files of an archive, each with a function that reads it within bounds."""
    infos = [i for i in archive.infolist() if not i.is_dir()]
    if len(infos) > 100_000:
        raise GradingError(
            f"{archive.filename} has {len(infos)} files; split the class into several archives"
        )
    for info in infos:
        name = PurePosixPath(info.filename.replace("\\", "/")).name
        if name.startswith(".") or "__MACOSX" in info.filename:
            continue

        def read(info=info):
            parts = PurePosixPath(info.filename.replace("\\", "/")).parts
            if (
                ".." in parts
                or info.filename.startswith(("/", "\\"))
                or re.match(r"^[A-Za-z]:", info.filename)
            ):
                raise _Refused(f"{info.filename} would leave its folder; it was refused")
            if stat.S_ISLNK(info.external_attr >> 16):
                raise _Refused(f"{info.filename} is a link; only files are collected")
            if info.file_size > LARGEST_FILE or info.file_size > 200 * max(info.compress_size, 1) + MB:
                raise _Refused(_too_large(info.filename, info.file_size))
            with archive.open(info) as stream:
                data = stream.read(LARGEST_FILE + 1)  # the size in the header may lie
            if len(data) > LARGEST_FILE:
                raise _Refused(_too_large(info.filename, len(data)))
            return data

        yield info.filename, read


# ── files ────────────────────────────────────────────────────────────────────────────────────


def _reader(path: Path):
    def read() -> bytes:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            raise _Refused(f"{path.name} is a link; only files are collected")
        if not stat.S_ISREG(status.st_mode):
            raise _Refused(f"{path.name} is not a file")
        if status.st_size > LARGEST_FILE:
            raise _Refused(_too_large(path.name, status.st_size))
        return path.read_bytes()

    return read


def _too_large(name: str, size: int) -> str:
    return f"{name} has {size / MB:.0f} MB and may have {LARGEST_FILE // MB} MB: clear its outputs and hand it in again"


def _from_name(path: Path) -> str:
    """The student of a lone file: its name without what downloads and copies add."""
    name = re.sub(r"^Copy of |^Kopie von |^Copie de ", "", path.stem)
    return re.sub(r"\s*\(\d+\)$", "", name) or path.stem


def _mtime(path: Path) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(os.lstat(path).st_mtime, datetime.UTC)


def _zip_time(info: zipfile.ZipInfo) -> datetime.datetime | None:
    try:
        return datetime.datetime(*info.date_time, tzinfo=datetime.UTC)
    except ValueError:
        return None


def _timestamp(path: Path) -> datetime.datetime | None:
    from dateutil import parser

    try:
        when = parser.parse(path.read_text(encoding="utf-8", errors="replace").strip()[:100])
    except (ValueError, OverflowError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=datetime.UTC)
