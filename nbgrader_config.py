"""Stock nbgrader and its formgrader on this repository, after `coursekit release`.

nbgrader autograde bptt         grades submitted/<student>/bptt/bptt.ipynb
nbgrader generate_feedback bptt
nbgrader export
jupyter lab                     the formgrader is in its Nbgrader menu
"""

from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader defines it)

c.CourseDirectory.root = str(Path(__file__).resolve().parent)
c.CourseDirectory.source_directory = "_build/source"
c.CourseDirectory.release_directory = "_build/release"
c.CourseDirectory.db_url = f"sqlite:///{c.CourseDirectory.root}/gradebook.db"

# A student's notebook comes back from Colab with new ids and without a kernel that this machine has.
c.ExecutePreprocessor.kernel_name = "python3"
c.ExecutePreprocessor.timeout = 120
