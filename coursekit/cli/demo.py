"""`coursekit demo`: the whole course once through, on this machine, with a class that does not exist."""

from __future__ import annotations

from ..authoring.course import Course
from .progress import built, graded, released
from .shared import console, say


def run(course: Course) -> None:
    """Release, build, grade; a second run does only what changed."""
    from ..authoring.sample_class import make
    from ..grading.command import Options
    from ..grading.confine.limits import Limits

    released(course)
    rows = [("the book", built(course) / "index.html")]
    home = course.build / "demo"
    say("Making a sample class …")
    submissions = [p for name in course.assignments() for p in make(course, name, home / "handed in" / name)]
    options = Options(
        course=course.root, gradebook=f"sqlite:///{home / 'gradebook.db'}", out=home / "grades",
        limits=Limits(cell_cpu=3, cell_wall=10),
    )  # fmt: skip
    reports = graded(submissions, options).reports
    rows += [(f"the class, {report.parent.name}", report) for report in reports]
    rows += [("a student's feedback", min(report.parent.glob("feedback/*.html"))) for report in reports]
    rows.append(("the students' notebooks", course.notebooks))
    say("\n", "Open these in a browser:")
    for what, path in rows:
        console.print(f"  {what:<28} {path.relative_to(course.root)}", highlight=False, soft_wrap=True)
