"""Small changes of a solution, and what the inputs of a test leave out."""

import torch

from coursekit.authoring.corners import narrow, recorded
from coursekit.authoring.mutants import mutants

CLIP = """\
def clip(g, n):
    ### BEGIN SOLUTION
    norm = (g ** 2).sum().sqrt()
    return g if norm <= n else n * g / norm
    ### END SOLUTION
"""


def run(text, name, *args):
    scope = {"torch": torch}
    exec(text, scope)
    return scope[name](*args)


def test_each_mutant_is_a_program_that_differs_at_one_place():
    found = mutants(CLIP)
    assert len(set(found.values())) == len(found)
    changed = "norm <= n -> norm < n"
    assert "norm < n" in found[changed]
    assert {"n * g / norm -> n * g", "g ** 2 -> g", "2 -> 3", "2 -> 1"} < set(found)
    for text in found.values():
        compile(text, "mutant", "exec")


def test_what_the_student_was_given_is_left_as_it_is():
    text = "scale = 3\n### BEGIN SOLUTION\ndef f(x):\n    return scale * x\n### END SOLUTION\n"
    assert all("scale = 3" in mutant for mutant in mutants(text).values())


def test_the_same_words_at_two_places_are_two_mutants():
    text = "def f(x):\n    ### BEGIN SOLUTION\n    return (x + 1) * (x + 1)\n    ### END SOLUTION\n"
    assert {"x + 1 -> x", "x + 1 -> x (2)"} < set(mutants(text))


def test_the_last_of_equals_is_tried_for_the_first():
    text = "def f(xs):\n    ### BEGIN SOLUTION\n    return min(xs, key=abs)\n    ### END SOLUTION\n"
    assert run(mutants(text)["min(xs, key=abs) -> min(list(xs)[::-1], key=abs)"], "f", [2, -1, 1]) == 1
    text = "def f(x):\n    ### BEGIN SOLUTION\n    return int(x.argmax())\n    ### END SOLUTION\n"
    (last,) = (t for name, t in mutants(text).items() if "flip" in name)
    assert run(last, "f", torch.tensor([1.0, 3.0, 3.0, 0.0])) == 2


def test_a_formula_and_an_equation_are_changed_in_their_own_language():
    found = mutants('### BEGIN SOLUTION\ncost = "2*V*D + d"\n### END SOLUTION\n')
    assert "2*V*D + d -> 2 * V * D" in found
    found = mutants('### BEGIN SOLUTION\nh = "h[j] = tanh(W[j,I] x[I]) + b[j]"\n### END SOLUTION\n')
    assert 5 < len(found) <= 13
    assert all(name.startswith("h[j] = ") and " -> h[j] = " in name for name in found)


def test_of_a_value_it_does_not_matter_how_it_was_computed():
    assert mutants("### BEGIN SOLUTION\nwidth = max(range(1, 1000))\n### END SOLUTION\n") == {}
    assert mutants("### BEGIN SOLUTION\nwidth = 7\n### END SOLUTION\n") != {}


def seen_in(function, calls):
    seen = {}
    call = recorded(function, seen)
    for args in calls:
        call(*args)
    return seen


def test_the_corners_that_no_case_tries_are_named():
    def estimate(U, j, S, pad=0):
        """U (B,V)"""
        return U[j]

    text = 'def estimate(U, j, S, pad=0):\n    """U (B,V)"""\n    return U[j] / U.norm()\n'
    calls = [(torch.randn(3, 4), 1, [1, 2]), (torch.randn(3, 4), 2, [2, 0])]
    assert list(narrow(seen_in(estimate, calls), text)) == [
        "no batch is ever of one",
        "no argument is ever zero",
        "U has always the same shape",
        "j is always in S",
        "S has always the same shape",
        "S has never the same twice",
        "pad is always the same",
    ]


def test_cases_that_try_every_corner_leave_nothing_out():
    def estimate(U, j, S):
        return U[j]

    calls = [
        (torch.randn(1, 4), 0, [1, 2]),
        (torch.zeros(2, 3), 1, [1, 1, 0]),
    ]
    text = 'def estimate(U, j, S):\n    """U (B,V)"""\n    return U[j] / U.norm()\n'
    assert list(narrow(seen_in(estimate, calls), text)) == []
