"""Derivations: each line is compared with the line before it, and a planted mistake is found where it stands."""

import random
from contextlib import suppress

import pytest
import torch

from coursekit.notation import Derivation, Equations, NotationError
from coursekit.notation.compare.mutate import mutations
from coursekit.notation.derive.given import Given
from coursekit.notation.derive.reader import chains, derivatives
from coursekit.notation.run.runner import run
from coursekit.notation.show import show
from coursekit.notation.tree import Equation, Ref, index

STEP = """
z[j] = h_prev[M] H[M,j] + e[K] I[K,j] + b_1[j]
h[j] = sigmoid(z[j])
theta[v] = h[J] U[J,v] + b_2[v]
y_hat[v] = softmax[v](theta[v])
J = -sum[v](y[v] log(y_hat[v]))
distribution y
"""
RNN = """
z[t,j] = h[t-1,M] H[M,j] + e[t,K] I[K,j] + b_1[j]
h[t,j] = sigmoid(z[t,j])
y_hat[v] = softmax[v](h[T-1,J] U[J,v] + b_2[v])
J = -sum[v](y[v] log(y_hat[v]))
distribution y
"""
EVERY_STEP = """
a[t,j] = W[j,I] h[t-1,I] + U[j,K] x[t,K]
h[t,j] = tanh(a[t,j])
J = g[T,J] h[T,J]
"""
SOFTMAX = "p[j] = softmax[j](z[j])\nJ = -sum[j](y[j] log(p[j]))\ndistribution y"
ATTENTION = """
Q[k,t,i] = W_Q[k,i,J] L[t,J]
K[k,t,i] = W_K[k,i,J] L[t,J]
s[k,t1,t2] = Q[k,t1,I] K[k,t2,I] / sqrt(I)
W[k,j,m] = 1/sqrt(I) W_Q[k,I,j] W_K[k,I,m]
"""
SKIP_GRAM = """
s[w] = U[A,w] v[A]
p[w] = softmax[w](s[w])
CE = -sum[w](y[w] log(p[w]))
distribution y
"""
PERPLEXITY = "CE = -sum[v](y[v] log(p[v]))\nPP = prod[v](p[v]^(-y[v]))\ndistribution p\ndistribution y"

RIGHT = {
    "softmax and cross entropy": (
        SOFTMAX,
        """
        dJ/dp[j] = -y[j]/p[j]
        dp[j]/dz[i] = p[j] ([i == j] - p[i])
        dJ/dz[i] = sum[j](dJ/dp[j] dp[j]/dz[i])
                 = sum[j](-y[j]/p[j] p[j] ([i == j] - p[i]))
                 = sum[j](-y[j] ([i == j] - p[i]))
                 = p[i] sum[j](y[j]) - y[i]
                 = p[i] - y[i]
        """,
    ),
    "1.N.14, a linear layer": ("z[k] = x[I] W[I,k]", "dz[k]/dW[i,j] = [k == j] x[i]\ndz[k]/dx[i] = W[i,k]"),
    "1.2.a and 1.2.b, one step": (
        STEP,
        """
        d_1[v] = dJ/dtheta[v] = y_hat[v] - y[v]
        d_2[j] = dJ/dz[j]
               = dJ/dh[j] dh[j]/dz[j]
               = dJ/dtheta[V] dtheta[V]/dh[j] h[j] (1 - h[j])
               = d_1[V] U[j,V] h[j] (1 - h[j])
        dJ/dU[j,v] = sum[w](d_1[w] dtheta[w]/dU[j,v]) = sum[w](d_1[w] [w == v] h[j]) = h[j] d_1[v]
        dJ/db_2[v] = d_1[v]
        dJ/dH[m,j] = sum[k](d_2[k] dz[k]/dH[m,j]) = h_prev[m] d_2[j]
        dJ/dI[k,j] = e[k] d_2[j]
        dJ/db_1[j] = d_2[j]
        dJ/de[k] = d_2[J] dz[J]/de[k] = d_2[J] I[k,J]
        dJ/dh_prev[m] = sum[j](dJ/dz[j] dz[j]/dh_prev[m]) = sum[j](d_2[j] H[m,j]) = d_2[J] H[m,J]
        """,
    ),
    "1.2.b, one step back in time": (
        RNN,
        """
        g[t,j] = dJ/dz[t,j]
        dJ/dh[t-1,k] = sum[j](dJ/dz[t,j] dz[t,j]/dh[t-1,k])
                     = sum[j](g[t,j] H[k,j])
                     = g[t,J] H[k,J]
        """,
    ),
    "1.3.b, through time": (
        RNN,
        """
        delta[t,k] = dJ/dh[t,k]
        g[t,k] = dJ/dz[t,k] = delta[t,k] dh[t,k]/dz[t,k] = delta[t,k] h[t,k] (1 - h[t,k])
        dJ/dH[m,j] = sum[t](dJ/dz[t,j] dz[t,j]/dH[m,j]) = sum[t](g[t,j] h[t-1,m]) = g[T,j] h[T-1,m]
        dJ/dI[k,j] = g[T,j] e[T,k]
        dJ/db_1[j] = sum[t](g[t,j])
        dJ/de[t,k] = g[t,J] I[k,J]
        """,
    ),
    "a loss at every step: the last step has no later one": (
        EVERY_STEP,
        """
        dJ/da[t,j] = dJ/dh[t,j] dh[t,j]/da[t,j] = dJ/dh[t,j] (1 - h[t,j]^2)
        dJ/dh[t,j] = g[t,j] + sum[i](dJ/da[t+1,i] da[t+1,i]/dh[t,j]) = g[t,j] + sum[i](W[i,j] dJ/da[t+1,i])
        dJ/dW[j,i] = sum[t](dJ/da[t,j] h[t-1,i])
        """,
    ),
    "2.3.b and 2.5.a, attention as one bilinear form": (
        ATTENTION,
        """
        s[k,t1,t2] = 1/sqrt(I) sum[i](Q[k,t1,i] K[k,t2,i])
                   = 1/sqrt(I) sum[i,j,m](W_Q[k,i,j] L[t1,j] W_K[k,i,m] L[t2,m])
                   = sum[j,m](L[t1,j] L[t2,m] 1/sqrt(I) sum[i](W_Q[k,i,j] W_K[k,i,m]))
                   = L[t1,J] W[k,J,M] L[t2,M]
        """,
    ),
    "1.1.a, perplexity": (
        PERPLEXITY,
        "PP = prod[v](exp(-y[v] log(p[v]))) = exp(sum[v](-y[v] log(p[v]))) = exp(CE)",
    ),
    "1.1.a, the geometric mean": (
        "CE[n] = -log(p[n])\nPP[n] = 1/p[n]\ndistribution p",
        "prod[n](PP[n])^(1/N) = prod[n](exp(CE[n]))^(1/N) = exp(sum[n](CE[n]))^(1/N) = exp(1/N sum[n](CE[n]))",
    ),
    "3.3.a, skip-gram": (
        SKIP_GRAM,
        """
        dCE/ds[w] = p[w] - y[w]
        dCE/dv[a] = sum[w](dCE/ds[w] ds[w]/dv[a]) = sum[w]((p[w] - y[w]) U[a,w])
        dCE/dU[a,w] = sum[k](dCE/ds[k] ds[k]/dU[a,w]) = (p[w] - y[w]) v[a]
        """,
    ),
    "a softmax of two is a sigmoid": (
        "size k = 2\np[k] = softmax[k](z[k])",
        "p[0] = exp(z[0]) / (exp(z[0]) + exp(z[1])) = 1 / (1 + exp(z[1] - z[0])) = sigmoid(z[0] - z[1])",
    ),
    "nothing given": ("", "(a[i] + b[i])^2 = a[i]^2 + 2 a[i] b[i] + b[i]^2 = a[i] (a[i] + 2 b[i]) + b[i]^2"),
    "the state before the first step": (
        EVERY_STEP, "dJ/dh_0[i] = dJ/da[0,J] W[J,i]"),
    "LaTeX, with brackets": (
        SOFTMAX,
        r"""
        \begin{aligned}
        \frac{\partial J}{\partial z[i]}
          &= \sum_j \frac{\partial J}{\partial p[j]} \frac{\partial p[j]}{\partial z[i]} \\
          &= \sum_j (-y[j]) ([i = j] - p[i]) \\
          &= p[i] - y[i].
        \end{aligned}
        """,
    ),
    "LaTeX with subscripts: softmax": (
        SOFTMAX,
        r"""
        \frac{\partial J}{\partial z_i} &= \sum_j \frac{\partial J}{\partial p_j} \frac{\partial p_j}{\partial z_i} \\
           &= \sum_j -y_j ([i = j] - p_i) \\
           &= p_i - y_i
        """,
    ),
    "LaTeX with subscripts: one step back, with a name of one's own": (
        RNN,
        r"""
        g_{t,j} = \frac{\partial J}{\partial z_{t,j}}
        \frac{\partial J}{\partial h_{t-1,k}}
          &= \sum_j \frac{\partial J}{\partial z_{t,j}} \frac{\partial z_{t,j}}{\partial h_{t-1,k}} \\
          &= \sum_j g_{tj} H_{kj}
        """,
    ),
    "LaTeX with subscripts: one step": (
        STEP,
        r"""
        \delta_v = \frac{\partial J}{\partial \theta_v} = \hat{y}_v - y_v
        \frac{\partial J}{\partial U_{j,v}} = \sum_w \delta_w \frac{\partial \theta_w}{\partial U_{jv}} = h_j \delta_v
        """,
    ),
    "LaTeX with subscripts: attention": (
        ATTENTION,
        r"s_{k,t_1,t_2} = \frac{1}{\sqrt{I}} \sum_i Q_{k,t_1,i} K_{k,t_2,i} = \sum_{j,m} L_{t_1,j} W_{k,j,m} L_{t_2,m}",
    ),
}  # fmt: skip


ENGINES = pytest.mark.parametrize("engine", ["torch", "python"])


@ENGINES
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_derivation_is_right_in_every_line(name, engine):
    given, text = RIGHT[name]
    steps = Derivation(given, engine=engine).check(text)
    assert [(s.line, s.verdict, s.sentence) for s in steps if s.verdict not in ("right", "definition")] == []
    assert sum(s.share for s in steps) == pytest.approx(1)


# ── planted mistakes ─────────────────────────────────────────────────────────────────────────

# given, the lines, what each after the first is found to be; of the first that is not right its kind and some words
WRONG = {
    "a sign": (
        SOFTMAX, "dJ/dz[i] = sum[j](-y[j] ([i == j] - p[i])) = sum[j](-y[j] ([i == j] + p[i]))",
        "right wrong", "sign", "`p[i]`"),
    "a transposed matrix": (
        RNN, "dJ/dh[t-1,k] = sum[j](dJ/dz[t,j] H[k,j]) = sum[j](dJ/dz[t,j] H[j,k])",
        "right wrong", "transpose", "`H` is transposed"),
    "a step too late": (
        RNN, "dJ/dH[m,j] = sum[t](dJ/dz[t,j] h[t-1,m]) = dJ/dz[T,j] h[T,m]",
        "right wrong", "shifted index", "`h[t-1,m]`"),
    "a factor lost": (
        RNN, "dJ/dz[t,j] = dJ/dh[t,j] h[t,j] (1 - h[t,j]) = dJ/dh[t,j] (1 - h[t,j])",
        "right wrong", "missing factor", "h[t,j]"),
    "a term lost": (
        EVERY_STEP, "dJ/dh[t,j] = g[t,j] + sum[i](W[i,j] dJ/da[t+1,i]) = sum[i](W[i,j] dJ/da[t+1,i])",
        "right wrong", "missing term", "g[t,j]"),
    "another tensor": (
        RNN, "dJ/dh[t-1,k] = dJ/dz[t,J] H[k,J] = dJ/dh[t,J] H[k,J]",
        "right wrong", "wrong tensor", "`dJ/dh[t,J]`"),
    "a constant": ("J = x[I]^2", "dJ/dx[i] = 2 x[i] = x[i]", "right wrong", "constant factor", "half of what"),
    "the root lost": (
        ATTENTION, "s[k,t1,t2] = sum[i](Q[k,t1,i] K[k,t2,i]) / sqrt(I) = sum[i](Q[k,t1,i] K[k,t2,i])",
        "right wrong", "scale", "sqrt"),
    "a wrong line, its consequence, and the truth again": (
        SOFTMAX,
        "dJ/dz[i] = sum[j](-y[j] ([i == j] - p[i])) = sum[j](-y[j] ([i == j] + p[i])) = -y[i] - p[i] = p[i] - y[i]",
        "right wrong follows right_again", "sign", "does not follow from the line before"),
    "wrong twice": (
        SOFTMAX, "dJ/dz[i] = p[i] + y[i] = p[i] y[i]", "wrong wrong", None, "does not follow"),
    "wrong at once: the derivative worked out tells": (
        SOFTMAX.replace("distribution y", ""), "dJ/dz[i] = p[i] sum[j](y[j]) + y[i]", "wrong", "sign", "`y[i]`"),
    "wrong at once: a line that is known tells": (
        SOFTMAX, "dJ/dz[i] = p[i] + y[i]", "wrong", "sign", "`y[i]`"),
    "a line again": (SOFTMAX, "dJ/dz[i] = p[i] - y[i] = p[i] - y[i]", "right repeated", None, "again"),
    "a sum that does not add up": (
        SOFTMAX, "dJ/dz[i] = sum[j](dJ/dp[j] dp[j]/dz[i]) = dJ/dp[i] dp[i]/dz[i]", "right wrong", None, "follow"),
    "an index that is free": (
        SOFTMAX, "dJ/dz[i] = dJ/dp[j] dp[j]/dz[i] = p[i] - y[i]", "unreadable right", None, "`j` is free here"),
    "a tensor that is not there": (
        SOFTMAX, "dJ/dz[i] = q[i] - y[i] = p[i] - y[i]", "unreadable right", None, "no tensor `q`"),
    "what cannot be read": (SOFTMAX, "dJ/dz[i] = p[i] + = p[i] - y[i]", "unreadable right", None, "breaks off"),
    "a logarithm that cannot be": (
        SOFTMAX, "dJ/dz[i] = p[i] - y[i] = log(-p[i]) - y[i] = p[i] - y[i]", "right wrong right_again", "not finite",
        "logarithm"),
    "a head that cannot be read": (SOFTMAX, "dJ/dq[i] = p[i] - y[i]", "unreadable", None, "no tensor `q`"),
    "a derivative without its index": (SOFTMAX, "dJ/dz = p[i] - y[i]", "unreadable", None, "`z` has 1 index"),
    "by a whole number": ("y[b,i] = e[w[b],i]\nJ = y[B,I]", "dJ/dw[b] = 0", "unreadable", None, "holds indices"),
}  # fmt: skip


@ENGINES
@pytest.mark.parametrize("name", WRONG)
def test_a_planted_mistake_is_found_in_its_line(name, engine):
    given, text, verdicts, kind, words = WRONG[name]
    steps = Derivation(given, engine=engine).check(
        text, known="dJ/dz[i] = p[i] - y[i]" if given is SOFTMAX else ""
    )
    assert [s.verdict for s in steps] == [v.replace("_", " ") for v in verdicts.split()]
    bad = next(s for s in steps if s.verdict not in ("right", "follows"))
    assert words in bad.sentence
    if kind is not None:
        assert bad.kind == kind
    assert all((s.share > 0) == s.good for s in steps)


def test_every_mutation_of_a_line_is_wrong_unless_its_numbers_are_right():
    """torch says which are: the gradient is p - y."""
    line = "sum[j](-y[j] ([i == j] - p[i]))"
    system = Equations(f"p[j] = softmax[j](z[j])\nline[i] = {line}").system
    generator = torch.Generator().manual_seed(0)
    z, y = torch.randn(2, 5, generator=generator, dtype=torch.float64)
    y = torch.softmax(y, 0)
    tried = [show(m.new.right, explicit=True) for m in mutations(system, ("line",))]
    assert len(tried) > 15
    for text in tried:
        step = Derivation(SOFTMAX, engine="python").check(f"dJ/dz[i] = {line} = {text}")[-1]
        same = False
        with suppress(NotationError):
            made = Equations(f"p[j] = softmax[j](z[j])\nline[i] = {text}").run({"z": z, "y": y})["line"]
            same = made.shape == z.shape and torch.allclose(made, torch.softmax(z, 0) - y)
        assert (step.verdict in ("right", "repeated")) == same, (text, step)


# ── what a derivative means ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("of", "wrt"), [("J", "W"), ("h", "W"), ("a", "x"), ("h", "U"), ("J", "x")])
def test_a_derivative_is_what_autograd_gives(of, wrt):
    equations = Equations(EVERY_STEP)
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)
    inputs = {"W": draw(3, 3), "U": draw(3, 2), "x": draw(4, 2), "g": draw(4, 3)}
    start = {"h": draw(3)}
    given = Given(equations.system, ())
    ranks = [len(equations.system.tensors[n].dims) for n in (of, wrt)]
    above, below = ([index(f"{c}{k}") for k in range(n)] for c, n in zip("ab", ranks, strict=True))
    entry = given.derivative(Ref(of, tuple(above)), Ref(wrt, tuple(below)))
    system = given.checked([Equation(Ref("D", entry.indices), entry)])
    ours = run(system, inputs, start)["D"]
    apart = lambda value: equations.run({**inputs, wrt: value}, start)[of]
    torch.testing.assert_close(ours, torch.autograd.functional.jacobian(apart, inputs[wrt]))


def test_a_derivative_by_a_state_is_by_every_way_and_directly_where_only_that_holds():
    text = "dh[t,j]/dW[k,i] = dh[t,j]/da[t,j] da[t,j]/dW[k,i]"
    (every,) = Derivation(EVERY_STEP).check(text)
    assert every.verdict == "right"
    assert "directly" not in every.sentence
    text = "dJ/dW[j,i] = sum[t](dJ/da[t,j] da[t,j]/dW[j,i])"
    (step,) = Derivation(EVERY_STEP).check(text)
    assert step.verdict == "right"
    assert "`da[t,j]/dW[j,i]` taken directly" in step.sentence


def test_a_line_is_shown_as_it_was_read():
    (step,) = Derivation(SOFTMAX).check("dJ/dz[i] = dJ/dp[J] dp[J]/dz[i]")
    assert step.latex == (r"\frac{\partial J}{\partial p[J]} \, \frac{\partial p[J]}{\partial z[i]}")


def test_a_new_name_may_begin_as_a_known_one():
    steps = Derivation(EVERY_STEP).check("g_a[t,j] = dJ/da[t,j]\ndJ/dW[j,i] = g_a[T,j] h[T-1,i]")
    assert [s.verdict for s in steps] == ["definition", "right"]
    assert steps[1].of == "dJ/dW[j,i]"
    assert steps[1].reads == {"g_a", "h"}


def test_a_quotient_of_two_tensors_is_a_quotient():
    given = "dJ[i] = 2 x[i]\ndz[i] = x[i]^2 + 1\nJ = x[I]\nz = x[I]"
    (step,) = Derivation(given).check("dJ[i]/dz[i] = 2 x[i] / (x[i]^2 + 1)")
    assert step.verdict == "right"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("= a[i]", "begins with `=`"),
        ("a[i] + b[i]", "no `=`"),
        ("a[i] = = b[i]", "missing beside `=`"),
        ("", None),
    ],
)
def test_a_text_that_is_no_chain_is_refused(text, words):
    if words is None:
        assert Derivation(SOFTMAX).check(text) == []
    else:
        with pytest.raises(NotationError, match=words):
            Derivation(SOFTMAX).check(text)


def test_chains_go_on_over_lines_and_inside_brackets():
    (one, two) = chains("a = b +\n  c\n= sum[i](x[i]\n  y[i])\nd = [i == 1] e")
    assert [(m.text, m.number) for m in one] == [("a", 1), ("b + c", 1), ("sum[i](x[i] y[i])", 3)]
    assert [m.text for m in two] == ["d", "[i == 1] e"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("dJ/dz[t,j]", [("J", "z[t,j]")]),
        ("d J / d W_hh[j, i] x", [("J", "W_hh[j, i]")]),
        ("dy_hat[v]/dh'[t-1,j]", [("y_hat[v]", "h'[t-1,j]")]),
        (r"\frac{\partial J}{\partial z_{t,j}}", [("J", "z_{t,j}")]),
        (r"\dfrac{d J}{d \hat{y}_k}", [("J", r"\hat{y}_k")]),
        (r"\partial J / \partial h^{(t)}_j", [("J", "h^{(t)}_j")]),
        ("∂J/∂z[i] ∂z[i]/∂x[j]", [("J", "z[i]"), ("z[i]", "x[j]")]),
        ("dx[i]/2 + d/dx", []),
        ("odd/dx[i]", []),
    ],
)  # fmt: skip
def test_derivatives_are_found_in_all_spellings(text, parts):
    found = []
    derivatives(text, lambda above, below: found.append((above, below)) or "D")
    assert found == parts


def test_a_distribution_must_be_an_input_with_an_index():
    for name in ("p", "J", "q"):
        with pytest.raises(NotationError, match="no distribution"):
            Derivation(SOFTMAX, distributions=[name]).check("dJ/dz[i] = p[i] - y[i]")


@pytest.mark.parametrize("seed", range(3))
def test_a_text_with_slips_is_judged_or_refused_and_never_breaks(seed):
    rng = random.Random(seed)
    texts = [(v[0], v[1]) for v in (*RIGHT.values(), *WRONG.values())]
    for given, text in rng.sample(texts, 8):
        letters = list(text)
        for _ in range(3):
            place = rng.randrange(len(letters))
            letters[place : place + rng.randrange(2)] = rng.choice("dJ[](){}=+-*/^_,.\\∂ \n0I")
        with suppress(NotationError):
            Derivation(given, engine="python").check("".join(letters))


@ENGINES
def test_what_is_zero_but_for_rounding_is_equal(engine):
    """With two entries a layer norm gives 1 and -1, whatever they are: its derivative is zero."""
    norm = "size i = 2\nm = sum[i](x[i])/I\nv = sum[i]((x[i]-m)^2)/I\ny[i] = (x[i]-m)/sqrt(v)\nJ = g[I] y[I]"
    text = (
        "dJ/dx[i] = sum[j](dJ/dy[j] dy[j]/dx[i]) = (g[i] - sum[j](g[j])/2 - y[i] sum[j](g[j] y[j])/2)/sqrt(v)"
    )
    assert [s.verdict for s in Derivation(norm, engine=engine).check(text)] == ["right", "right"]
