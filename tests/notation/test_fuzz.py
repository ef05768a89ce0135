"""20,000 random and mutated texts: a result or a NotationError, nothing else, and soon.

What is read must also print, in ASCII and in LaTeX, as texts that parse back to it.
"""

# ruff: noqa: E501 (seeds are one line each)
import contextlib
import random
import time

import pytest

from coursekit.notation import Equations, NotationError
from coursekit.notation.parse.parser import parse

SEEDS = [
    "G[b,t,j] = sigmoid(W_hG[j,I] h[b,t-1,I] + W_xG[j,K] x[b,t,K] - B_G[j])",
    "a[k,t1,t2] = softmax[t2 <= t1](1/sqrt(I) Q[k,t1,I] K[k,t2,I])",
    "L'[b,t,i] = relu(sum[dt](W[dt,I,i] L[b,2t+dt,I]))\npad L\ncentered dt",
    "h[t,J] = CELL(h[t-1,J], V[t,K], e[w_t,I])",
    "c[t,C] = h[0,t,I]; ...; h[K-1,t,I]\nz[t,C] = a[t,I]; b[t,K]",
    "y[i,j] = cases(a[i] if i == j and i < 3, [i != j] b[j] otherwise)^2",
    "loss = -1/(B*T) sum[b,t](log(P[b,t,w[b,t]]))",
    r"P_{\Phi}(w_t \mid w_0, \dots, w_{t-1}) = \underset{w_t}{\text{softmax}} e(w_t)[I]h[t-1, I]",
    r"\tilde{R}_t[b, j] = \left( \sum_i W^{h, R}[j, i] h_{t-1}[b, i] \right) - B^R[j]",
    r"R_{\ell+1}[b, x, j] = \tanh \left( \sum_{\Delta x, j'} W_{\ell+1}^{L, R}[\Delta x, j', j] L_{\ell}[b, x + \Delta x, j'] \right)",
    r"\mathcal{L} = \frac{1}{KT(L-1)} \sum_{k,t_1,0 \le \ell \le L-2} \min\left( L_{\max}, \alpha[\ell,k,t_1](t_1-1)^2 \right)",
    r"W.\text{grad}' = \begin{cases} W.\text{grad} & \text{if } ||W.\text{grad}|| \leq n \\ n & \text{otherwise} \end{cases}",
    r"\begin{aligned} a &= b \\ &= \sqrt{c} \end{aligned} \quad (3)",
    r"\frac{\partial J}{\partial W_{ij}} = x_i \left(\frac{\partial J}{\partial z} \right)_j",
    r"h^{(t)} = \text{sigmoid}(h^{(t-1)} H + e^{(t)} I + b_1)" + "\n" + r"H \in \mathbb{R}^{D \times D}",
    r"\Phi = (W^{h,R}, B^R)" + "\nsize t = 5\nW in R^{n x m}",
    r"h_{t,j} = \sigma\left(\sum_i W^{hh}_{j,i} h_{t-1,i} + e_{w_t, j} \right), \quad t = 1, \dots, T",
    r"f_t = \sigma(W_f \cdot [h_{t-1}, x_t] + b_f)",
    r"f(z) = \frac{1}{1+e^{-z}}" + "\ny[t] = f(x[t]) if t > 0 else gamma^(t-1)",
    "positions from 1\nh[0,j] = h0[j]\nh[t,j] = h[t-1,j] + x[t//2,j]",
    r"y_i = \text{softmax}(W x)_i + \|W\|_F^2 - \infty [i > 2]",
    "y = mean[i](x[i]) + 1e5 clip(x[I], 0, 1) + tanh^2(x[3]) + log_2(pi)",
]
PIECES = ["a", "b", "h", "W", "x_t", "t-1", "[", "]", "(", ")", "{", "}", ",", ";", "=", "+", "-", "*", "/", "^", "_", "'", "|", "||", ".", "...", "<", "<=", "==", "1", "2.5", "0", "I", "J", "sum", "softmax", "max", "sigmoid", "if", "and", "otherwise", "cases", "in", "R", "pad", "parameters", "\n", "\\", "\\\\", "&", "$", "#", "%", "~", "\\frac", "\\sum", "\\left", "\\right", "\\text{x}", "\\tilde", "\\hat", "\\begin{cases}", "\\end{cases}", "\\begin{aligned}", "\\end{aligned}", "\\underset", "\\sqrt", "\\partial", "\\Delta", "\\ell", "\\top", "\\mid", "\\cdots", "\\mathbb{R}", "α", "Σ", "∂", "é", "\xa0", "\x00", "__import__", "eval(1)", "lambda", '"', "`", "1e400", "\\quad", "positions from 1", "//", "\\odot", "\\infty", "^2", "_i", "_{t-1}", "^{(t)}", "f(z)", "else", "mean", "\\lfloor", "\\rfloor", "..", "T in R", "\\mathrm{hh}", "torch."]  # fmt: skip


SIGNATURE = {"W_hh": 2, "h": ("t", "j"), "x": 2, "W": 2, "b": 1, "e": 2, "w": 1, "a": 0}


def soup(rng: random.Random) -> str:
    return "".join(rng.choice(PIECES) + rng.choice(["", " "]) for _ in range(rng.randrange(1, 25)))


def mutant(rng: random.Random) -> str:
    text = list(rng.choice(SEEDS))
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(text) + 1)
        move = rng.randrange(4)
        if move == 0:
            text.insert(at, rng.choice(PIECES))
        elif move == 1 and at < len(text):
            del text[at : at + rng.randrange(1, 4)]
        elif move == 2 and at < len(text):
            other = rng.choice(SEEDS)
            cut = rng.randrange(len(other))
            text[at : at + 3] = other[cut : cut + rng.randrange(1, 12)]
        elif text:
            a, b = rng.randrange(len(text)), rng.randrange(len(text))
            text[a], text[b] = text[b], text[a]
    return "".join(text)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "seed", "count"), [(soup, 1, 6000), (mutant, 2, 14000)])
def test_any_text_gives_a_result_or_a_notation_error(make, seed, count):
    rng = random.Random(seed)
    read = refused = 0
    slowest, worst = 0.0, ""
    for _ in range(count):
        text = make(rng)
        start = time.process_time()
        try:
            equations = Equations(text, SIGNATURE if read % 2 else None)
            again, typeset = parse(str(equations)), parse(equations.latex())
            assert again == equations.program, text
            assert typeset == equations.program, text
            read += 1
        except NotationError as refusal:
            refused += 1
            assert refusal.message  # noqa: PT017
            lines = text.splitlines() or [""]
            assert refusal.line == 0 or 1 <= refusal.line <= max(1, len(lines)), (text, refusal.line)  # noqa: PT017
        except AssertionError:
            raise
        except Exception as crash:
            pytest.fail(f"{type(crash).__name__}: {crash} for {text!r}")
        spent = time.process_time() - start
        if spent > slowest:
            slowest, worst = spent, text
    assert read + refused == count
    assert refused > count // 10  # the mutations do break texts
    if make is mutant:
        assert read > count // 100  # and some survive
    assert slowest < 5, worst  # a hang, not a speed limit


LONG = [
    "y = a" + "\n" * 19_000 + "z = b",
    "\n" * 19_990,
    "y = (a " + "\n + a" * 3000 + ")",
    "y = a" + " \\quad" * 2500,
]


@pytest.mark.parametrize("text", LONG, ids=["blank lines", "nothing", "one bracket", "blanks"])
def test_a_long_text_is_read_or_refused_soon(text):
    Equations("y = a")  # the grammar is read
    start = time.process_time()
    with contextlib.suppress(NotationError):
        Equations(text)
    assert time.process_time() - start < 1


def test_names_that_python_would_run_are_only_names():
    with pytest.raises(NotationError):
        Equations("y = __import__('os').system('true')")
    equations = Equations("y[i] = eval[i] lambda exec[i]")
    assert equations.inputs == ("eval", "lambda", "exec")
