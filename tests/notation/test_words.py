"""What the words of the language make possible: models whose oracle is written by hand, or counted out."""

from itertools import product

import pytest
import torch
from closeness import close
from running import Case, agree, draw

from coursekit.notation import Equations, NotationError


def test_rotary_positions_turn_each_pair_by_its_angle():
    text = """
    a[t,i] = t / 10000^(2*i/n)
    y[t,i,j] = cases(x[t,i,0] cos(a[t,i]) - x[t,i,1] sin(a[t,i]) if j == 0,
                     x[t,i,0] sin(a[t,i]) + x[t,i,1] cos(a[t,i]) otherwise)
    """.replace("\n                     ", " ")
    x = draw(5, 3, 2)
    case = Case(text, {"x": x, "n": torch.tensor(6.0, dtype=torch.float64)}, {}, {"j": 2})
    angle = torch.arange(5.0)[:, None] / 10000 ** (2 * torch.arange(3.0).double() / 6)
    turned = torch.view_as_complex(x) * torch.polar(torch.ones_like(angle), angle)
    torch.testing.assert_close(agree(case)["y"], torch.view_as_real(turned))


def test_a_crf_sums_over_all_paths_and_viterbi_finds_the_best():
    text = """
    a[t,j] = e[t,j] + logsumexp[i](a[t-1,i] + W[i,j])
    Z = logsumexp[j](a[T-1,j])
    v[t,j] = e[t,j] + max[i](v[t-1,i] + W[i,j])
    p[t,j] = argmax[i](v[t-1,i] + W[i,j])
    y[t] = cases(argmax[j](v[t,j]) if t == T-1, p[t+1,y[t+1]] otherwise)
    """
    e, W, start = draw(5, 3), draw(3, 3), draw(3)
    case = Case(text, {"e": e, "W": W}, {"a": start, "v": start, "p": 0, "y": 0})
    found = agree(case)
    scores = {}
    for path in product(range(3), repeat=6):  # the state before the first step, and five more
        steps = [e[t, path[t + 1]] + W[path[t], path[t + 1]] for t in range(5)]
        scores[path] = start[path[0]] + sum(steps)
    torch.testing.assert_close(found["Z"], torch.logsumexp(torch.stack(list(scores.values())), 0))
    assert found["y"].tolist() == list(max(scores, key=scores.__getitem__)[1:])


def test_the_last_place_of_an_axis_needs_no_index_of_its_own():
    alpha = torch.randn(5, 3, dtype=torch.float64)
    close(Equations("Z = logsumexp_j alpha[T-1,j]").run({"alpha": alpha})["Z"], alpha[-1].logsumexp(0))
    both = Equations("y[j] = a[N-2,j] + b[N-1,j]/N").run({"a": alpha, "b": 2 * alpha})["y"]
    close(both, alpha[3] + 2 * alpha[4] / 5)
    with pytest.raises(NotationError):
        Equations("y[j] = a[N-2,j] + b[N-1,j]").run({"a": alpha, "b": alpha[:4]})


def test_a_start_that_reads_what_is_given_at_0_is_the_first_place():
    pi, A, B = (torch.rand(*size, dtype=torch.float64) for size in ((3,), (3, 3), (3, 6)))
    seen = torch.tensor([2, 0, 5, 5])
    text = "alpha[0,j] = pi[j] B[j,o[0]]\nalpha[t,j] = B[j,o[t]] sum_i alpha[t-1,i] A[i,j]\np = sum_j alpha[T-1,j]"
    wanted = pi * B[:, seen[0]]
    for o in seen[1:]:
        wanted = B[:, o] * (wanted @ A)
    close(Equations(text).run({"pi": pi, "A": A, "B": B, "o": seen})["p"], wanted.sum())


def test_edit_distance_is_that_of_the_words():
    text = "d[i,j] = min(d[i-1,j] + 1, d[i,j-1] + 1, d[i-1,j-1] + [a[i] != b[j]])"
    # rows and columns 0 stand for the empty word: their letters match nothing
    a, b = ([0, *map(ord, word)] for word in ("kitten", "sitting"))
    full = f"{text.replace('d[i,j] = ', 'd[i,j] = cases(i + j if i == 0, i + j if j == 0, ')} otherwise)"
    case = Case(full, {"a": torch.tensor(a), "b": torch.tensor(b)}, {"d": 0.0})
    assert agree(case)["d"][-1, -1] == 3


def test_a_kalman_filter_is_the_mean_of_the_posterior():
    text = """
    m[t] = f c[t-1]
    p[t] = f^2 q[t-1] + r
    k[t] = p[t] / (p[t] + s)
    c[t] = m[t] + k[t] (x[t] - m[t])
    q[t] = (1 - k[t]) p[t]
    """
    f, r, s, n = 0.9, 0.5, 0.7, 6
    x = draw(n)
    one = lambda v: torch.tensor(v, dtype=torch.float64)
    found = agree(Case(text, {"x": x, "f": one(f), "r": one(r), "s": one(s)}, {"c": one(0.0), "q": one(1.0)}))
    # the joint normal distribution of the states, conditioned on all that was seen
    prior = torch.zeros(n, n, dtype=torch.float64)
    variance = 1.0
    for t in range(n):
        variance = f**2 * variance + r
        for u in range(t, n):
            prior[t, u] = prior[u, t] = variance * f ** (u - t)
    for t in range(n):
        seen = prior[: t + 1, : t + 1] + s * torch.eye(t + 1, dtype=torch.float64)
        gain = torch.linalg.solve(seen, prior[: t + 1, t])
        torch.testing.assert_close(found["c"][t], gain @ x[: t + 1])
        torch.testing.assert_close(found["q"][t], prior[t, t] - gain @ prior[: t + 1, t])


def test_a_mixture_of_experts_asks_the_one_it_weighs_most():
    text = """
    g[b,e] = softmax[e](W[e,I] x[b,I])
    k[b] = argmax[e](g[b,e])
    y[b,j] = g[b,k[b]] gelu(V[k[b],j,I] x[b,I])
    """
    W, x, V = draw(4, 3), draw(5, 3, seed=1), draw(4, 2, 3)
    gates = torch.softmax(x @ W.T, 1)
    best = gates.argmax(1)
    rows = [gates[b, e] * torch.nn.functional.gelu(V[e] @ x[b]) for b, e in enumerate(best)]
    torch.testing.assert_close(agree(Case(text, {"W": W, "x": x, "V": V}))["y"], torch.stack(rows))


def test_grouped_heads_share_their_keys_and_values():
    text = "a[g,h,s,t] = softmax[t <= s](q[g,h,s,I] k[g,t,I] / sqrt(I))\nz[g,h,s,i] = a[g,h,s,T] v[g,T,i]"
    q, k, v = draw(2, 3, 5, 4), draw(2, 5, 4, seed=1), draw(2, 5, 4, seed=2)
    spread = [x[:, None].expand(-1, 3, -1, -1) for x in (k, v)]
    right = torch.nn.functional.scaled_dot_product_attention(q, *spread, is_causal=True)
    torch.testing.assert_close(agree(Case(text, {"q": q, "k": k, "v": v}))["z"], right)


def test_sinusoidal_positions_are_added():
    text = "y[t,i,j] = x[t,i,j] + cases(sin(t/10000^(i/I)) if j == 0, cos(t/10000^(i/I)) otherwise)"
    x = draw(5, 3, 2)
    angle = torch.arange(5.0)[:, None].double() / 10000 ** (torch.arange(3).double() / 3)
    torch.testing.assert_close(
        agree(Case(text, {"x": x}))["y"], x + torch.stack([angle.sin(), angle.cos()], -1)
    )


@pytest.mark.parametrize(
    ("text", "signature", "meant"),
    [
        (r"d = \|a - b\|_1", {"a": 1, "b": ("i",), "d": 0}, "d = sum[I](abs(a[I] - b[I]))"),
        (r"d = \|x\|_\infty", {"x": ("i",)}, "d = max[I](abs(x[I]))"),
        ("d[b] = ||x[b,I]||_1", {}, "d[b] = sum[I](abs(x[b,I]))"),
        (r"y = \sum_{i=1}^{2N} x_i", {"x": ("i",), "y": 0}, "y = sum[i](x[i])"),
        (r"p_{ts} = \exp(q_t \cdot k_s)", {"q": "ti", "k": "si"}, "p[t,s] = exp(q[t,I] k[s,I])"),
        (r"s = {v'}^\top u", {"v'": 1, "u": 1}, "s = v'[I] u[I]"),
        (r"y_i = \mathbb{1}_{x_i > 0} x_i", {"x": 1}, "y[i] = 1 * [x[i] > 0] x[i]"),
        (r"y_c = \operatorname{mean}_{h,w} x_{c,h,w}", {"x": "chw"}, "y[c] = mean[h,w](x[c,h,w])"),
    ],
)
def test_what_papers_print_is_read(text, signature, meant):
    assert Equations(
        text, {n: tuple(a) if isinstance(a, str) else a for n, a in signature.items()}
    ) == Equations(meant)


def test_the_1_norm_of_a_matrix_is_told_from_that_of_its_entries():
    with pytest.raises(NotationError, match="over which axes"):
        Equations(r"d = \|W\|_1", {"W": ("j", "i")})
