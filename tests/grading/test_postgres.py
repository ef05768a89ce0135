"""The gradebook in a real PostgreSQL, started for the test and stopped at its end."""

import pytest
import small_course as small

from coursekit.grading.command import Options, run
from coursekit.grading.confine.limits import Limits
from coursekit.grading.gradebook.record import Record
from coursekit.grading.gradebook.tables import by_hand


@pytest.mark.slow
def test_a_class_is_graded_into_postgresql_and_taken_up_again(postgres, tmp_path):
    server = postgres("taken_up")
    course = small.write_course(tmp_path / "course", {"sums": {"sums": small.sums()}})
    for student, more in {"ada": {}, "Émilie 'x'; --": {"norm": "def norm(xs):\n    return '\\0'"}}.items():
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "sums.ipynb").write_bytes(
            small.saved(small.solved(small.sums(), **more))
        )
    options = Options(course, gradebook=server, limits=Limits(cell_cpu=5, cell_wall=10))
    first = run([tmp_path / "class"], options)
    assert {e.student: e.score for e in first.entries} == {"ada": 6, "Émilie 'x'; --": 3}, first.problems
    second = run([tmp_path / "class"], options)
    assert [e.seconds for e in second.entries] == [e.seconds for e in first.entries]
    with Record(server) as record:
        assert small.totals(record, "sums") == {"ada": 6, "Émilie 'x'; --": 3}
        assert by_hand(record.engine, "sums") == {}
