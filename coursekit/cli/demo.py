"""`coursekit demo`: the whole course once through, on this machine, with a class that does not exist."""

from __future__ import annotations

from rich.console import Console

from ..authoring.course import Course


def run(course: Course, console: Console) -> None:
    """Release, build, grade; a second run does only what changed."""
    from ..authoring.release import release
    from ..authoring.sample_class import make
    from ..book.build import build
    from ..grading.command import Options
    from ..grading.command import run as grade
    from ..grading.confine.limits import Limits
    from .progress import bar

    names = course.assignments()
    with bar("Releasing the assignments", len(names), console) as advance:
        release(course, progress=lambda _: advance(advance=1))
    with bar("Building the book", 100, console) as advance:
        book = build(course.root, progress=lambda share: advance(completed=round(100 * share)))

    home = course.build / "demo"
    console.print("Making a sample class …")
    submissions = [path for name in names for path in make(course, name, home / "handed in" / name)]
    options = Options(
        course=course.root, gradebook=f"sqlite:///{home / 'gradebook.db'}", out=home / "grades",
        limits=Limits(cell_cpu=3, cell_wall=10),
    )  # fmt: skip
    with bar("Grading it", len(submissions), console) as advance:
        graded = grade(
            submissions, options, total=lambda n: advance(total=n), step=lambda: advance(advance=1)
        )

    console.print("\n[bold]Open these in a browser:[/]")
    rows = [("the book", book / "index.html")]
    rows += [(f"the class, {report.parent.name}", report) for report in graded.reports]
    rows += [
        ("a student's feedback", next(iter(sorted(report.parent.glob("feedback/*.html")))))
        for report in graded.reports
    ]
    for what, path in rows:
        console.print(f"  {what:<28} {path.relative_to(course.root)}", highlight=False, soft_wrap=True)
    console.print("  the students' notebooks      notebooks/", highlight=False)
