"""Test cells as people write them run in the examiner, on the student's names, unchanged."""

from __future__ import annotations

import pytest

from coursekit.grading import Limits
from coursekit.grading.run.outcome import calibrate

GIVEN = "import math\nimport numpy as np\nimport torch\nfrom torch import nn\n"

# what the student wrote; a test that must pass on it
PASSES: dict[str, tuple[str, str]] = {
    "numbers": (
        "def f(x): return x / 4",
        "assert f(2) == 0.5\nassert math.isclose(f(1), 0.25)\nassert type(f(1)) is float",
    ),
    "strings and lists": (
        "def f(s): return s.split()",
        "assert f('a b') == ['a', 'b']\nassert 'a' in f('a b')",
    ),
    "dicts and sets": (
        "def f(): return {'a': {1, 2}}",
        "assert f() == {'a': {1, 2}}\nassert f()['a'] - {1} == {2}",
    ),
    "arrays": (
        "def f(n): return np.eye(n)",
        "np.testing.assert_allclose(f(3), np.eye(3))\nassert f(2).sum() == 2",
    ),
    "tensors": (
        "def f(x): return x @ x.T",
        "x = torch.randn(3, 4)\ntorch.testing.assert_close(f(x), x @ x.T)",
    ),
    "named arguments": ("def f(x, *, scale=1): return x * scale", "assert f(2, scale=3) == 6"),
    "variables": (
        "answer = 42\nnames = ['a']",
        "assert answer == 42\nassert isinstance(answer, int)\nassert names == ['a']",
    ),
    "exceptions": (
        "class Bad(ValueError): pass\ndef f(x):\n    if x < 0: raise Bad('negative')\n    return x",
        "try:\n    f(-1)\nexcept ValueError as error:\n    assert 'negative' in str(error)\n"
        "else:\n    raise AssertionError",
    ),
    "pytest.raises": (
        "def f(x): raise KeyError(x)",
        "import pytest\nwith pytest.raises(KeyError):\n    f('k')",
    ),
    "a lambda as argument": ("def twice(g, x): return g(g(x))", "assert twice(lambda v: v + 1, 0) == 2"),
    "a library function as argument": (
        "def apply(g, x): return g(x)",
        "assert apply(torch.tanh, torch.zeros(2)).sum() == 0",
    ),
    "a callback that calls the student again": (
        "def f(g, x): return g(x)\ndef h(x): return x * 3",
        "assert f(lambda v: h(v) + 1, 2) == 7",
    ),
    "what a model keeps in a closure or a global": (
        "table = [1.0] * 500\ndef f():\n    model, held = nn.Linear(2, 3), list(range(400))\n"
        "    model.look = lambda w: held[w] + table[w]\n    return model",
        "from coursekit import checks\nassert checks.kept_numbers(f()) >= 9 + 400 + 500",
    ),
    "changes in place": (
        "def f(xs, a, t, d): xs.sort(); a += 1; t.mul_(2); d['k'] = 1",
        "xs, a, t, d = [3, 1], np.zeros(2), torch.ones(2), {}\nf(xs, a, t, d)\n"
        "assert xs == [1, 3] and a.tolist() == [1, 1] and t.tolist() == [2, 2] and d == {'k': 1}",
    ),
    "the same object back": (
        "def f(xs): return xs",
        "xs = [1]\nassert f(xs) is xs and xs == [1]",
    ),
    "nested parameters changed in place": (
        "def step(params):\n    for p in params.values(): p -= 1",
        "W = np.ones(2)\nparams = {'W': W}\nstep(params)\nassert W.tolist() == [0, 0]",
    ),
    "a class": (
        "class Counter:\n    def __init__(self, n=0): self.n = n\n    def __len__(self): return self.n\n"
        "    def add(self, k=1):\n        self.n += k\n        return self\n",
        "c = Counter(2)\nassert c.n == 2\nc.add().add(3)\nassert c.n == 6 and len(c) == 6\n"
        "assert isinstance(c, Counter)\nc.n = 1\nassert c.n == 1",
    ),
    "a module": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__(); self.l = nn.Linear(3, 2)\n"
        "    def forward(self, x): return self.l(x)",
        "net = Net()\nassert isinstance(net, nn.Module) and issubclass(Net, nn.Module)\nout = net(torch.ones(4, 3))\n"
        "assert out.shape == (4, 2)\nassert sum(p.numel() for p in net.parameters()) == 8\n"
        "assert set(net.state_dict()) == {'l.weight', 'l.bias'}\nassert net.l.weight.shape == (2, 3)",
    ),
    "gradients of the student's function": (
        "def loss(W, x): return ((x @ W) ** 2).sum()",
        "W = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)\nx = torch.randn(4, 3, dtype=torch.float64)\n"
        "loss(W, x).backward()\ntorch.testing.assert_close(W.grad, 2 * x.T @ (x @ W.detach()))\n"
        "assert torch.autograd.gradcheck(lambda w: loss(w, x), (W,))",
    ),
    "gradients through the test, the student and the test again": (
        "def double(x): return 2 * x",
        "W = torch.ones(2, requires_grad=True)\n(double(W ** 2) ** 2).sum().backward()\n"
        "assert W.grad.tolist() == [16, 16]",
    ),
    "gradients of a function that the test passes": (
        "def slope(g, x):\n    x = x.clone().requires_grad_()\n    return torch.autograd.grad(g(x).sum(), x)[0]",
        "assert slope(lambda v: v ** 3, torch.tensor([2.0])).item() == 12",
    ),
    "gradients that the student's function leaves behind": (
        "def train(W): (W ** 2).sum().backward()",
        "W = torch.ones(2, requires_grad=True)\ntrain(W)\nassert W.grad.tolist() == [2, 2]",
    ),
    "gradients of a module's parameters": (
        "net = nn.Linear(2, 1)",
        "net(torch.ones(1, 2)).sum().backward()\nassert net.weight.grad.tolist() == [[1, 1]]",
    ),
    "no_grad reaches the student's function": (
        "w = torch.ones(1, requires_grad=True)\ndef f(): return w * 2",
        "with torch.no_grad():\n    assert not f().requires_grad\nassert f().requires_grad",
    ),
    "a seed reaches the student's function": (
        "def init(n): return torch.randn(n), np.random.randn(n)",
        "torch.manual_seed(1); np.random.seed(1)\na, b = init(3)\ntorch.manual_seed(1); np.random.seed(1)\n"
        "assert torch.equal(a, torch.randn(3)) and (b == np.random.randn(3)).all()",
    ),
    "generators": ("def count(n):\n    for i in range(n): yield i", "assert list(count(3)) == [0, 1, 2]"),
    "a library object as argument": (
        "def run(layer, x): return layer(x)",
        "layer = nn.Linear(2, 2)\nx = torch.ones(1, 2)\ntorch.testing.assert_close(run(layer, x), layer(x))",
    ),
    "an object of the test's own class as argument": (
        "def total(shop): return shop.price * 2 + shop.tax(1)",
        "class Shop:\n    price = 3\n    def tax(self, n): return n\nassert total(Shop()) == 7",
    ),
    "two objects of the student's class": (
        "class V:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x\n"
        "    def __add__(self, o): return V(self.x + o.x)\n    def __repr__(self): return f'V({self.x})'",
        "assert V(1) + V(2) == V(3)\nassert V(1) != V(2)\nassert repr(V(1)) == 'V(1)'",
    ),
    "named tuples": (
        "from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef f(): return P(1, 2)",
        "assert f() == (1, 2) and f().y == 2",
    ),
    "names that begin with an underscore": ("def _f(): return 1\n_x = 2", "assert _f() == 1 and _x == 2"),
    "bytes and None": ("def f(x): return x", "assert f(b'a') == b'a' and f(None) is None"),
    "a global of the student's that a function uses": ("k = 5\ndef f(): return k", "assert f() == k == 5"),
}

FAILED = "A test of this question failed."
UNUSABLE = "The test could not work with what your code gave back (TypeError)."
RAISED = "Your code raised IndexError: list index out of range (line 1)."
FAILS: dict[str, tuple[str, str, str]] = {
    "a wrong number": ("def f(): return 1", "assert f() == 2, 'f should give two'", "f should give two"),
    "no sentence from a computed message": ("def f(): return 1", "assert f() == 2, f'expected {2}'", FAILED),
    "a missing name": ("x = 1", "assert f() == 2", "`f` is not defined."),
    "an exception": ("def f(): return [][0]", "f()", RAISED),
    "the wrong type": ("def f(): return None", "f() + 1", UNUSABLE),
}


@pytest.mark.parametrize("name", PASSES)
def test_a_common_test_cell_runs_unchanged(grade_cells, name):
    solution, test = PASSES[name]
    outcome = grade_cells(("given", GIVEN), ("solution", solution), ("test", test))
    assert outcome.tests[0].status == "passed", outcome
    assert not outcome.tests[0].weaker


@pytest.mark.parametrize("name", FAILS)
def test_a_failed_test_says_why(grade_cells, name):
    solution, test, sentence = FAILS[name]
    outcome = grade_cells(
        ("given", GIVEN), ("solution", solution, {"reference": "def f(): ..."}), ("test", test)
    )
    assert outcome.score == 0
    assert outcome.tests[0].sentence == sentence


CREDIT = [("0.5", 0.5, "partial"), ("1", 1, "passed"), ("'x'", 1, "passed"), ("True", 1, "passed")]
CREDIT += [("2", 0, "broken"), ("0", 0, "partial")]


@pytest.mark.parametrize(("last", "score", "status"), CREDIT)
def test_a_number_on_the_last_line_is_partial_credit(grade_cells, last, score, status):
    (test,) = grade_cells(("test", last)).tests
    assert (test.score, test.status) == (score, status)


def test_names_of_given_cells_are_the_examiners_own(grade_cells):
    outcome = grade_cells(
        ("given", "def helper(x): return x + 1\nlimit = 10"),
        ("solution", "def helper(x): return 0\nlimit = 10**9\ndef f(x): return helper(x)"),
        ("test", "assert helper(1) == 2 and limit == 10\nassert f(1) == 0"),
    )
    assert outcome.score == 1, outcome


def test_a_name_that_the_solution_is_there_to_replace_comes_from_the_student(grade_cells):
    cells = (
        ("given", "model = None"),
        ("solution", "model = 'mine'", {"reference": "model = 'theirs'"}),
        ("test", "assert model == 'mine'"),
    )
    assert grade_cells(*cells).score == 1


def test_imports_of_the_reference_are_genuine(grade_cells):
    outcome = grade_cells(
        ("solution", "def assert_equal(a, b): pass\ndef f(): return 0",
         {"reference": "from numpy.testing import assert_equal\ndef f(): return 1"}),
        ("test", "assert_equal(f(), 1)"),
    )  # fmt: skip
    assert outcome.score == 0


def test_a_module_that_only_the_student_imported_is_genuine(grade_cells):
    outcome = grade_cells(
        ("solution", "import numpy as np\ndef f(): return 1"), ("test", "assert np.allclose(f(), 1)")
    )
    assert outcome.score == 1, outcome
    forged = grade_cells(
        (
            "solution",
            "import types\nnp = types.ModuleType('numpy'); np.allclose = lambda *a: True\ndef f(): return 0",
        ),
        ("test", "assert np.allclose(f(), 1)"),
    )
    assert forged.score == 0


def test_a_given_function_may_use_the_students_names(grade_cells):
    outcome = grade_cells(
        ("given", "def evaluate(xs): return [predict(x) for x in xs]"),
        ("solution", "def predict(x): return x > 0"),
        ("given", "scores = evaluate([1, -1])"),
        ("test", "assert scores == [True, False]"),
    )
    assert outcome.score == 1, outcome


def test_given_cells_that_no_test_needs_do_not_run_twice(grade_cells):
    outcome = grade_cells(
        ("given", "import os, time\ndata = [1]"),
        ("given", "time.sleep(0.01); open('ran', 'w').close()\nslow = 1"),
        ("solution", "def f(): return os.path.exists('ran')"),
        ("test", "assert f() and not os.path.exists('ran') and data == [1]"),
    )
    assert outcome.score == 1, outcome


def test_given_cells_that_change_what_a_test_needs_do_run(grade_cells):
    outcome = grade_cells(
        ("given", "import torch\ndata = [1]"),
        ("given", "data.append(2)\ntorch.set_default_dtype(torch.float64)"),
        ("solution", "def f(): return torch.zeros(1).dtype"),
        ("test", "assert data == [1, 2] and torch.zeros(1).dtype is f() is torch.float64"),
    )
    assert outcome.score == 1, outcome


def test_tests_see_the_notebook_as_it_stood_at_their_place(grade_cells):
    outcome = grade_cells(
        ("solution", "x = 1"), ("test", "assert x == 1"), ("solution", "x = 2"), ("test", "assert x == 2")
    )
    assert outcome.score == 2, outcome


def test_what_a_test_defines_is_there_for_the_next_test(grade_cells):
    outcome = grade_cells(
        ("solution", "def f(x): return x\ncases = 'mine'"),
        ("test", "cases = [1, 2]"),
        ("test", "assert all(f(c) == c for c in cases)"),
    )
    assert outcome.score == 2, outcome


def test_an_object_where_plain_data_is_needed_is_flagged_for_a_person(grade_cells):
    outcome = grade_cells(
        ("solution", "class N:\n    def __eq__(self, o): return True\ndef f(): return N()"),
        ("test", "assert f() == 3", {"id": "q1"}),
    )
    assert outcome.tests[0].status == "not-plain"
    assert outcome.flags == ["q1: an object of the student's class stood where plain data was needed"]


def test_a_refusal_counts_even_if_the_test_swallows_it(grade_cells):
    outcome = grade_cells(
        ("solution", "class N:\n    def __eq__(self, o): return True\ndef f(): return N()"),
        ("test", "try:\n    assert f() == 3\nexcept BaseException:\n    pass"),
    )
    assert outcome.score == 0


def test_a_dead_candidate_is_no_exception_that_a_test_can_catch(grade_cells):
    outcome = grade_cells(
        ("solution", "import os\ndef f(x): os._exit(0)"),
        ("test", "try:\n    f(-1)\nexcept Exception:\n    pass\nelse:\n    raise AssertionError"),
        ("test", "try:\n    f(-1)\nexcept:\n    pass"),
    )
    assert [test.status for test in outcome.tests] == ["died", "died"]


def test_a_test_may_ask_for_the_students_process_and_is_marked_weaker(grade_cells):
    outcome = grade_cells(
        ("solution", "def f(): return frozenset({1})\nlog = []\ndef g(): log.append(1)"),
        ("test", "# coursekit: in-candidate\ng()\nassert log == [1]"),
        ("test", "assert f() == {1}"),
        ("test", "# coursekit: in-candidate\nassert f() == {2}, 'should be two'"),
    )
    assert [(t.status, t.weaker) for t in outcome.tests] == [
        ("passed", True),
        ("passed", False),
        ("failed", True),
    ]
    assert outcome.tests[2].sentence == "should be two"


def test_calibrating_finds_the_tests_that_need_the_students_process(warm, task_of):
    reference = task_of(
        ("solution", "class V:\n    def __mul__(self, k): return k\nlog = []\ndef g(): log.append(1)"),
        ("test", "assert V() * 3 == 3"),
        ("test", "g()\nassert len(log) == 1"),
        ("test", "assert type(g()) is type(None)"),
    )
    modes, failed = calibrate([reference], warm.grade)
    inside = {"mode": "candidate"}
    assert modes == {reference.id: {"test1": inside, "test2": inside, "test3": {"leans": ()}}}
    assert failed == []


def test_a_student_cannot_move_a_test_into_their_own_process(warm, task_of):
    evil = task_of(
        (
            "solution",
            "# coursekit: in-candidate\nclass N:\n    def __eq__(self, o): return True\ndef f(): return N()",
        ),
        ("test", "assert f() == 3"),
    )
    (outcome,) = warm.grade([evil])
    assert (outcome.score, outcome.tests[0].weaker) == (0, False)


def test_a_callback_shows_the_student_nothing_but_its_answers(grade_cells):
    source = """
def probe(g):
    seen = []
    for name in ('__globals__', '__code__', '__closure__', '__self__', 'secret', '_secret', '__dict__', '__class__'):
        try: getattr(g, name); seen.append(name)
        except Exception: pass
    return seen
"""
    test = """
class Holder:
    def __init__(self): self.public, self._secret = 1, 2
    def method(self): return 3
secret = 12345
assert probe(lambda v: secret) == ['__class__']
assert probe(Holder()) == ['__class__']
"""
    outcome = grade_cells(("solution", source), ("test", test))
    assert outcome.score == 1, outcome


def test_coursekit_checks_bring_their_sentence(grade_cells):
    outcome = grade_cells(
        ("given", "from coursekit.checks.shown.result import Earned, mistaken, wrong"),
        ("solution", "def f(): return 1"),
        ("test", "mistaken('dropped-factor', 'you dropped the factor').require()"),
        ("test", "Earned(0.5, wrong('shape', own='half of it', whole='half of 7'))"),
        ("test", "wrong('other', whole='it is 7').require()"),
    )
    told = [(test.status, test.score, test.sentence, test.kind) for test in outcome.tests]
    assert told == [
        ("failed", 0, "you dropped the factor", "dropped-factor"),
        ("partial", 0.5, "half of it", "shape"),
        ("failed", 0, "This is not right yet.", "other"),
    ]
    assert [test.detail for test in outcome.tests][1:] == ["half of 7", "CheckFailed: it is 7 (line 1)"]


def test_a_parameter_may_have_any_name(grade_cells):
    """Also one that our own functions on the way use: `target`, `self`, `function`, `args`."""
    outcome = grade_cells(
        (
            "solution",
            "def f(x, target, self=0, function=0, args=0, op=0):\n    return x + target + self + function + args + op",
        ),
        ("test", "assert f(1, target=2, self=3, function=4, args=5, op=6) == 21"),
    )
    assert [t.status for t in outcome.tests] == ["passed"]


def test_what_a_process_says_after_it_has_seen_a_test_is_not_passed_on(grade_cells):
    """A foreign course's test that must run there is read from the stack, and printed by every way there is."""
    thief = """
import sys
seen = []
def f():
    frame = sys._getframe()
    while frame: seen.append(str(frame.f_globals.get("secret"))); frame = frame.f_back
    return 1
"""
    shout = "print(seen)\nraise ValueError(str(seen))"
    quote = "def g(): raise ValueError(str(seen))\nclass Text(AssertionError): sentence = 'hidden-4711'\n"
    quote += "def f(): raise Text('hidden-4711')"
    outcome = grade_cells(
        ("solution", thief),
        ("test", "# coursekit: in-candidate\nsecret = 'hidden-4711'\nassert f() == 2, 'should be two'"),
        ("extra", shout),
        ("solution", quote),
        ("test", "g()"),
        ("test", "from coursekit import checks\nchecks.function(g, lambda: None, {}).require()"),
        ("test", "assert seen == 0, seen"),
        ("test", "# coursekit: in-candidate\nraise ValueError(secret)"),
        ("test", "# coursekit: in-candidate\nassert f() == 'hidden-4711', 'should be text'"),
    )
    told = [t.sentence + t.kind for t in outcome.tests] + [c.error for c in outcome.cells]
    told += [str(o.data) for c in outcome.cells for o in c.outputs]
    assert not [words for words in told if "4711" in words], told
    assert outcome.tests[0].sentence == "should be two", "what the author wrote for the student is told"
    assert len([flag for flag in outcome.flags if "student's own process" in flag]) == 3


def verdicts(warm, task_of, reference: str, test: str, *answers: str):
    """Each answer's verdict, held to what the reference leaned on."""
    solved = task_of(("solution", reference, {"reference": reference}), ("test", test))
    modes, failed = calibrate([solved], warm.grade)
    assert failed == []
    told = modes[solved.id]["test1"]
    for answer in answers:
        cells = ("solution", answer, {"reference": reference}), ("test", test, told)
        (outcome,) = warm.grade([task_of(*cells)])
        yield outcome


JUDGES = """
class Yes:
    def __getattr__(self, name): return lambda *a, **k: True
answer = Yes()
"""


@pytest.mark.parametrize(
    ("reference", "test", "judge"),
    [
        ("answer = {1, 2}", "assert answer.issubset({1, 2, 3})", JUDGES),
        ("answer = 'abc'", "assert answer.startswith('ab')", JUDGES),
        ("import torch\nanswer = torch.ones(2)", "import torch\nassert answer.allclose(torch.ones(2))", JUDGES),
        ("answer = {1, 2}", "assert answer.issubset({1, 2, 3})",
         "def answer(): pass\nanswer.issubset = lambda other: True"),
        ("answer = {1, 2}", "assert answer.issubset({1, 2, 3})",
         "from collections import namedtuple\nanswer = namedtuple('A', 'issubset')(lambda other: True)"),
    ],
)  # fmt: skip
def test_an_object_does_not_judge_itself_where_the_reference_is_plain_data(
    warm, task_of, reference, test, judge
):
    right, forged = verdicts(warm, task_of, reference, test, reference, judge)
    assert right.score == 1
    assert right.flags == []
    assert forged.score == 0
    assert forged.flags


def test_a_verdict_that_rests_on_a_method_of_the_students_own_class_is_flagged(warm, task_of):
    stack = "class Stack:\n    def __init__(self): self.xs = []\n    def holds(self, x): return x in [1]\ns = Stack()"
    (outcome,) = verdicts(warm, task_of, stack, "assert s.holds(1)", stack)
    assert outcome.score == 1
    assert outcome.tests[0].weaker
    assert outcome.flags


def test_an_argument_changed_in_place_does_not_make_the_expected_value(warm, task_of):
    cheat = "def f(x):\n    x *= 0\n    return x"
    test = "import torch\nx = torch.ones(3)\nassert torch.equal(f(x), 2 * x)"
    right, forged = verdicts(warm, task_of, "def f(x): return 2 * x", test, "def f(x): return x + x", cheat)
    assert (right.score, forged.score) == (1, 0)
    both = "def f(xs):\n    xs.append(1)\n    return xs"
    (outcome,) = verdicts(warm, task_of, both, "xs = []\nassert f(xs) is xs and xs == [1]", both)
    assert outcome.score == 1, "where the instructor's own answer does both, a student's may"


def test_that_an_argument_was_changed_is_a_fact_that_a_test_can_ask_for(grade_cells):
    outcome = grade_cells(
        ("solution", "def f(x, y, *, z):\n    y[0] = 1; z.clear()\n    return 1"),
        ("test", "f([0], [0], z={1: 2})\nassert f.__changed__ == (1, 'z')"),
    )
    assert outcome.score == 1, outcome


@pytest.mark.parametrize(
    ("body", "kept"),
    [("x *= 2; return x", False), ("return 2 * x", True), ("x.requires_grad_(); return 2 * x", True)],
)
def test_an_answer_that_changes_what_it_is_given_loses_its_points(body, kept, grade_cells):
    given = "import torch\nfrom coursekit import checks\n"
    outcome = grade_cells(
        ("solution", f"def f(x):\n    {body}"),
        ("test", f"{given}checks.function(f, lambda x: 2 * x, {{'x': torch.arange(3.0)}}).score(1)"),
    )
    assert outcome.score == kept, outcome


@pytest.mark.parametrize(
    ("answer", "word"),
    [("np.zeros((0, 3))", "empty"), ("np.full(3, np.nan)", "not a number"), ("float('nan')", "not a number")],
)
def test_an_answer_that_compares_with_anything_is_flagged(warm, task_of, answer, word):
    test = "import numpy as np\nassert not np.any(np.abs(answer - np.ones(3)) > 1e-9)"
    right, odd = verdicts(
        warm, task_of, "import numpy as np\nanswer = np.ones(3)", test,
        "import numpy as np\nanswer = np.ones(3)", f"import numpy as np\nanswer = {answer}",
    )  # fmt: skip
    assert (right.score, right.flags) == (1, [])
    assert [flag for flag in odd.flags if word in flag]


def test_a_name_that_the_reference_does_not_define_is_not_taken(warm, task_of):
    reference = "def f(x): return 2 * x"
    test = "try: tol = TOL\nexcept NameError: tol = 1e-9\nassert abs(f(1) - 2) < tol"
    right, forged = verdicts(warm, task_of, reference, test, reference, "TOL = 100\ndef f(x): return 0")
    assert (right.score, forged.score) == (1, 0)


def test_a_backward_pass_carries_no_expected_value_into_the_candidate(grade_cells):
    thief = """
import torch
seen = []
class Spy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 1
    @staticmethod
    def backward(ctx, grad): seen.append(grad.tolist()); return grad
def f(x): return Spy.apply(2 * x)
"""
    test = """
import torch
x = torch.ones(3, dtype=torch.float64, requires_grad=True)
expected = torch.tensor([4711.0, 4712.0, 4713.0], dtype=torch.float64)
((f(x) - expected) ** 2).sum().backward()
assert torch.allclose(x.grad, 4 * (2 - expected)), x.grad
"""
    outcome = grade_cells(
        ("solution", thief),
        ("test", test),
        ("test", "flat = [v for s in seen for v in s]\nassert set(flat) == {0.0, 1.0}, flat"),
    )
    assert [t.score for t in outcome.tests] == [1, 1], outcome


def test_a_generator_that_a_test_passes_can_be_run_and_not_looked_into(grade_cells):
    thief = """
def f(numbers):
    found = []
    for name in ("gi_frame", "gi_code", "gi_yieldfrom", "__class__"):
        try: found.append(str(getattr(numbers, name).f_locals))
        except Exception as error: pass
    return [sum(numbers), found]
"""
    test = "secret = 4711\ntotal, found = f(n * n for n in range(4))\nassert total == 14\nassert found == [], found"
    outcome = grade_cells(("solution", thief), ("test", test))
    assert outcome.score == 1, outcome


def test_a_message_that_cannot_be_written_costs_its_own_test_and_no_other(grade_cells):
    huge = (
        "def f(): return 10 ** 20000\ndef g(): raise ValueError(f())\ndef h(): raise KeyError(b'x' * 10 ** 7)"
    )
    outcome = grade_cells(
        ("solution", huge),
        ("test", "assert f() == 1, f()"),
        ("test", "g()"),
        ("test", "try: h()\nexcept KeyError as error: assert 0, error"),
        ("test", "assert f() % 7 == 2 or True"),
    )
    assert [t.score for t in outcome.tests] == [0, 0, 0, 1]
    assert "lost" not in [t.status for t in outcome.tests], outcome


def test_two_objects_of_the_students_do_not_judge_each_other_where_the_reference_is_plain(grade_cells):
    source = "class Any:\n    __eq__ = __ne__ = __lt__ = lambda self, other: True\ndef f(x): return Any()"
    test = "assert f(1) == f(1) and f(1) != f(2) and f(1) < f(2)"
    outcome = grade_cells(("solution", source), ("test", test, {"leans": ()}))
    assert (outcome.score, outcome.tests[0].status) == (0, "not-plain"), outcome


@pytest.mark.parametrize(
    "error", ["StopIteration", "type('Own', (StopIteration,), {})", "StopAsyncIteration"]
)
def test_an_error_that_ends_loops_does_not_end_the_tests_loop(grade_cells, error):
    test = "assert all(a == b for a, b in zip(map(f, [1, 2]), [2, 4]))"
    outcome = grade_cells(("solution", f"def f(x): raise {error}"), ("test", test))
    assert (outcome.score, outcome.tests[0].status) == (0, "error"), outcome


@pytest.mark.parametrize("value", ["complex('nan')", "deque([float('nan')])", "OrderedDict(x=float('nan'))"])
def test_what_is_not_a_number_is_flagged_wherever_it_stands(grade_cells, value):
    source = f"from collections import OrderedDict, deque\ndef f(x): return {value}"
    outcome = grade_cells(("solution", source), ("test", "f(1)", {"leans": ()}))
    assert any("not a number" in flag for flag in outcome.flags), outcome


def test_a_state_that_hidden_tensors_were_drawn_from_stays_with_them(grade_cells):
    source = "seen = []\ndef f(x): seen.append(np.random.get_state()[1].tolist()); return x @ x"
    test = """
np.random.seed(77); hidden = torch.tensor(np.random.randn(3, 3)); state = np.random.get_state()[1].tolist()
checks.operations(f, [{"x": hidden}], grows=2.4, oracle=lambda x: x @ x).ok
"""
    given = "import numpy as np\nimport torch\nfrom coursekit import checks"
    cells = [
        ("given", given),
        ("solution", source),
        ("test", test),
        ("test", "assert seen and state not in seen"),
    ]
    outcome = grade_cells(*cells, limits=Limits(cell_cpu=20, cell_wall=60, memory=1024))
    assert outcome.tests[1].score == 1, outcome
