"""Stock nbgrader and its formgrader on this repository, after `coursekit release`.

nbgrader release_assignment bptt    puts it where students fetch it: nbgrader list, fetch, submit
nbgrader collect bptt
nbgrader autograde bptt             grades submitted/<student>/bptt/bptt.ipynb
nbgrader generate_feedback bptt
nbgrader export
jupyter lab                         the formgrader is in its Nbgrader menu
"""

from pathlib import Path

from coursekit.grading.nbgrader_config import configure

c = get_config()  # noqa: F821 - nbgrader defines it
c.CourseDirectory.course_id = "language-models-by-hand"
c.CourseDirectory.source_directory = "_build/source"
c.CourseDirectory.release_directory = "_build/release"
configure(c, Path(__file__).resolve().parent)
