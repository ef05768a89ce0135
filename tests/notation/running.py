"""Systems with inputs to run them on: every model of the course, and every construct of the language.

from running import COURSE, agree
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from coursekit.notation.check.checker import check
from coursekit.notation.meaning.evaluate import evaluate
from coursekit.notation.parse.parser import parse
from coursekit.notation.run.runner import run
from coursekit.notation.system import System


def system(text: str, **options) -> System:
    return check(parse(text), **options)


def draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(n * 31**k for k, n in enumerate(shape)))
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def words(high: int, *shape: int) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(high))


def lists(value):
    if isinstance(value, Tensor):
        return value.tolist()
    return tuple(lists(v) for v in value) if isinstance(value, tuple) else value


@dataclass
class Case:
    """A system, the shapes of its inputs (a tensor stands for itself), its boundary and sizes."""

    text: str
    inputs: dict
    boundary: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)

    def drawn(self) -> tuple[dict[str, Tensor], dict]:
        numbered = enumerate(self.inputs.items())
        inputs = {n: s if isinstance(s, Tensor) else draw(*s, seed=k) for k, (n, s) in numbered}
        make = lambda v, k: draw(*v, seed=90 + k) if isinstance(v, list) else v
        boundary = {
            n: tuple(make(p, k) for k, p in enumerate(v)) if isinstance(v, tuple) else make(v, 9)
            for n, v in self.boundary.items()
        }
        return inputs, boundary


def gate(name: str, function: str, state: str = "h[b,t-1,I]") -> str:
    return f"{name}[b,t,j] = {function}(W_h{name}[j,I] {state} + W_x{name}[j,K] x[b,t,K] - B_{name}[j])\n"


def gate_shapes(names: str, J: int = 4, K: int = 3) -> dict:
    shapes: dict = {}
    for n in names:
        shapes |= {f"W_h{n}": (J, J), f"W_x{n}": (J, K), f"B_{n}": (J,)}
    return shapes | {"x": (2, 5, K)}


GRU = (
    gate("Z", "sigmoid")
    + gate("G", "sigmoid")
    + "h'[b,t,i] = G[b,t,i] h[b,t-1,i]\n"
    + gate("R", "tanh", "h'[b,t,I]")
    + "h[b,t,j] = (1 - Z[b,t,j]) h[b,t-1,j] + Z[b,t,j] R[b,t,j]"
)
LSTM = (
    gate("N", "sigmoid")
    + gate("F", "sigmoid")
    + gate("O", "sigmoid")
    + gate("A", "tanh")
    + "c[b,t,j] = F[b,t,j] c[b,t-1,j] + N[b,t,j] A[b,t,j]\n"
    + "h[b,t,j] = O[b,t,j] tanh(c[b,t,j])"
)
UGRNN = gate("R", "tanh") + gate("G", "sigmoid") + "h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1-G[b,t,j]) R[b,t,j]"
VANILLA = "h[b,t,j] = sigmoid(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K] - B[j])"
UGCNN = """
pad L
centered dx, dy
R[b,x,y,j] = tanh(sum[dx,dy](W_R[dx,dy,I,j] L[b,x+dx,y+dy,I]) - B_R[j])
G[b,x,y,j] = sigmoid(sum[dx,dy](W_G[dx,dy,I,j] L[b,x+dx,y+dy,I]) - B_G[j])
L'[b,x,y,j] = G[b,x,y,j] L[b,x,y,j] + (1 - G[b,x,y,j]) R[b,x,y,j]
"""
LANGUAGE_CNN = """
L_0[b,t,i] = e[w[b,t],i]
L_1[b,t,i] = sigmoid(sum[dt](W[dt,I,i] L_0[b,2*t+dt,I]) - B[i])
"""
GRID = "h[i,j,k] = tanh(W_in[k,C] x[i,j,C] + W_l[k,K] h[i-1,j,K] + W_t[k,K] h[i,j-1,K])"
ATTENTION = """
Q[b,k,t,i] = W_Q[k,i,J] x[b,t,J]
K[b,k,t,i] = W_K[k,i,J] x[b,t,J]
U[b,k,t,i] = W_V[k,i,J] x[b,t,J]
a[b,k,t1,t2] = softmax[t2](Q[b,k,t1,I] K[b,k,t2,I] / sqrt(I))
z[b,k,t,i] = a[b,k,t,S] U[b,k,S,i]
y[b,t,j] = W_O[j,K,I] z[b,K,t,I]
"""
ATTENTION_SHAPES = {"W_Q": (3, 4, 6), "W_K": (3, 4, 6), "W_V": (3, 4, 6), "W_O": (6, 3, 4), "x": (2, 5, 6)}
QK = {"q": (5, 3), "k": (5, 3), "v": (5, 4)}
BLANK = """
f[b,t,j] = tanh(W_f[j,I] f[b,t-1,I] + U_f[j,K] x[b,t,K])
g[b,t,j] = tanh(W_g[j,I] g[b,t+1,I] + U_g[j,K] x[b,t,K])
P[b,t,w] = softmax[w](e[w,I] V_f[I,J] f[b,t-1,J] + e[w,I] V_g[I,J] g[b,t+1,J])
"""
CAPTION = """
P[t,w] = softmax[w](e[w,I] W_a[I,J] h[t-1,J])
a[t,x,y] = softmax[x,y](h[t-1,J] W_k[J,K] M[x,y,K])
V[t,k] = a[t,X,Y] M[X,Y,k]
h[t,j] = tanh(W_h[j,J] h[t-1,J] + W_v[j,K] V[t,K] + W_e[j,I] e[w[t],I])
"""
RNN_LM = """
h[b,t,j] = sigmoid(H[i,j] h[b,t-1,i] + U[k,j] L[x[b,t],k] + c[j])
"""
COURSE: dict[str, Case] = {
    "vanilla": Case(VANILLA, {"W": (4, 4), "U": (4, 3), "B": (4,), "x": (2, 5, 3)}, {"h": [2, 4]}),
    "vanilla, padded": Case("pad h\n" + VANILLA, {"W": (4, 4), "U": (4, 3), "B": (4,), "x": (2, 5, 3)}),
    "ugrnn": Case(UGRNN, gate_shapes("RG"), {"h": [2, 4]}),
    "gru": Case(GRU, gate_shapes("ZGR"), {"h": [2, 4]}),
    "lstm": Case(LSTM, gate_shapes("NFOA"), {"h": [2, 4], "c": [2, 4]}),
    "rnn language model": Case(
        """
        z[b,t,j] = H[I,j] h[b,t-1,I] + U[K,j] L[x[b,t],K] + c[j]
        h[b,t,j] = sigmoid(z[b,t,j])
        y[b,t,v] = softmax[v](h[b,t,J] E[J,v] + d[v])
        loss[b,t] = -log(y[b,t,x[b,t]])
        """,
        {"H": (4, 4), "U": (3, 4), "L": (7, 3), "x": words(7, 2, 5), "c": (4,), "E": (4, 7), "d": (7,)},
        {"h": [2, 4]},
    ),
    "two layers": Case(
        "h[t,j] = tanh(A[j,I] h[t-1,I] + x[t,j])\ng[t,j] = tanh(C[j,I] g[t-1,I] + D[j,K] h[t,K])",
        {"A": (4, 4), "C": (3, 3), "D": (3, 4), "x": (6, 4)},
        {"h": [4], "g": 0.5},
    ),
    "blank language model": Case(
        BLANK,
        {
            "W_f": (4, 4),
            "U_f": (4, 3),
            "W_g": (4, 4),
            "U_g": (4, 3),
            "x": (2, 5, 3),
            "e": (7, 2),
            "V_f": (2, 4),
            "V_g": (2, 4),
        },
        {"f": [2, 4], "g": [2, 4]},
    ),
    "captioning": Case(
        CAPTION,
        {
            "e": (7, 3),
            "W_a": (3, 4),
            "W_k": (4, 5),
            "M": (2, 3, 5),
            "W_h": (4, 4),
            "W_v": (4, 5),
            "W_e": (4, 3),
            "w": words(7, 6),
        },
        {"h": [4]},
    ),
    "update-gate cnn": Case(
        UGCNN, {"W_R": (3, 3, 2, 2), "W_G": (3, 3, 2, 2), "B_R": (2,), "B_G": (2,), "L": (2, 4, 5, 2)}
    ),
    "language cnn": Case(LANGUAGE_CNN, {"e": (7, 3), "w": words(7, 2, 8), "W": (3, 3, 3), "B": (3,)}),
    "grid": Case("pad h\n" + GRID, {"W_in": (3, 2), "W_l": (3, 3), "W_t": (3, 3), "x": (4, 5, 2)}),
    "grid, boundary": Case(
        GRID, {"W_in": (3, 2), "W_l": (3, 3), "W_t": (3, 3), "x": (4, 5, 2)}, {"h": ([5, 3], [4, 3])}
    ),
    "grid, one number outside": Case(
        "h[i,j,k] = tanh(x[i,j,k] + W[k,K] h[i-1,j,K] + U[k,K] h[i,j-1,K] + V[k,K] h[i-1,j-1,K])",
        {"W": (3, 3), "U": (3, 3), "V": (3, 3), "x": (4, 5, 3)},
        {"h": 0.3},
    ),
    "grid, backwards": Case(
        "pad h\nh[i,j] = tanh(x[i,j] + u h[i+1,j] + v h[i,j+1])", {"x": (4, 3), "u": (), "v": ()}
    ),
    "grid, one way each": Case(
        "pad h\nh[i,j] = tanh(x[i,j] + u h[i-1,j] + v h[i,j+2])", {"x": (4, 3), "u": (), "v": ()}
    ),
    "cube": Case("pad h\nh[i,j,k] = x[i,j,k] + h[i-1,j,k]/2 + h[i,j-1,k]/3 + h[i,j,k-1]/4", {"x": (2, 3, 4)}),
    "self-attention": Case(ATTENTION, ATTENTION_SHAPES),
    "causal attention": Case("a[s,t] = softmax[t <= s](q[s,I] k[t,I])\nz[s,i] = a[s,T] v[T,i]", QK),
    "local attention": Case(
        "a[s,t] = softmax[t, t <= s, t > s - 3](q[s,I] k[t,I])\nz[s,i] = a[s,T] v[T,i]", QK
    ),
    "attention to the past alone": Case(
        "a[s,t] = softmax[t, t < s](q[s,I] k[t,I])", {"q": (5, 3), "k": (5, 3)}
    ),
    "heads laid end to end": Case("y[t,C] = (z[0,t,I]; ...; z[K-1,t,I])", {"z": (3, 5, 4)}),
    "feed-forward layer": Case(
        "y[t,j] = W_2[j,I] relu(W_1[I,K] x[t,K] - B_1[I]) - B_2[j]",
        {"W_2": (4, 5), "W_1": (5, 3), "B_1": (5,), "x": (6, 3), "B_2": (4,)},
    ),
    "concatenation": Case(
        "y[t,C] = (a[t,I]; b[t,K])\nz[t,j] = W[j,C] y[t,C]", {"a": (5, 3), "b": (5, 2), "W": (4, 5)}
    ),
    "skip-gram": Case(
        """
        p[b,v] = softmax[v](U[A,v] V[A,w[b]])
        loss[b] = -log(p[b,u[b]])
        dV[a,v] = sum[b]([w[b] == v] U[a,K] (p[b,K] - [K == u[b]]))
        dU[a,v] = sum[b](V[a,w[b]] (p[b,v] - [v == u[b]]))
        """,
        {"U": (4, 7), "V": (4, 7), "w": torch.tensor([2, 0, 2]), "u": torch.tensor([5, 1, 6])},
    ),
    "merged key matrix": Case("W[k,i,j] = 1/sqrt(I) Q[k,I,i] K[k,I,j]", {"Q": (3, 4, 6), "K": (3, 4, 6)}),
    "sequence to sequence": Case(
        """
        g[s,j] = tanh(A[j,I] g[s+1,I] + C[j,K] x[s,K])
        a[t,s] = softmax[s](h[t-1,J] W[J,K] g[s,K])
        c[t,k] = a[t,S] g[S,k]
        h[t,j] = tanh(D[j,I] h[t-1,I] + E[j,K] c[t,K] + y[t,j])
        """,
        {"A": (3, 3), "C": (3, 2), "x": (5, 2), "W": (4, 3), "D": (4, 4), "E": (4, 3), "y": (6, 4)},
        {"g": [3], "h": [4]},
    ),
}


def agree(case: Case, functions=None, plain_functions=None, **options) -> dict[str, Tensor]:
    made = system(case.text, **options)
    inputs, boundary = case.drawn()
    ours = run(made, inputs, boundary, case.sizes, functions)
    plain = evaluate(
        made,
        {n: lists(x) for n, x in inputs.items()},
        {n: lists(x) for n, x in boundary.items()},
        case.sizes,
        plain_functions,
    )
    assert list(ours) == list(plain) == list(made.outputs)
    for name in made.outputs:
        expected = torch.tensor(plain[name], dtype=ours[name].dtype)
        assert ours[name].shape == expected.shape, name
        torch.testing.assert_close(
            ours[name], expected, rtol=1e-11, atol=1e-11, msg=lambda m, n=name: f"{n}: {m}"
        )
    return ours


# ── every construct ──────────────────────────────────────────────────────────────────────────

CONSTRUCTS: dict[str, Case] = {
    "two steps back": Case("h[t,j] = tanh(x[t,j] + W[j,I] h[t-1,I] + U[j,I] h[t-2,I])",
                           {"x": (6, 3), "W": (3, 3), "U": (3, 3)}, {"h": [2, 3]}),
    "two steps back, one number": Case("h[t,j] = x[t,j] + h[t-2,j]", {"x": (6, 3)}, {"h": 2}),
    "backwards in time": Case("h[t,j] = tanh(x[t,j] + W[j,I] h[t+1,I])", {"x": (6, 3), "W": (3, 3)}, {"h": [3]}),
    "time in the middle and last": Case(
        "h[j,t,b] = tanh(x[b,t,j] + W[j,I] h[I,t-1,b])", {"x": (2, 5, 3), "W": (3, 3)}, {"h": [3, 2]}),
    "a state with no other axis": Case("h[t] = a h[t-1] + x[t]", {"a": (), "x": (6,)}, {"h": []}),
    "a state times a state": Case(
        "h[t,i,j] = tanh(x[t,i,j] + h[t-1,i,K] h[t-1,K,j] + W[i,K] h[t-1,K,L] W[L,j])",
        {"x": (4, 3, 3), "W": (3, 3)}, {"h": [3, 3]}),
    "a state read along a diagonal": Case("h[t,j] = x[t,j] + h[t-1,t] / 2", {"x": (4, 4)}, {"h": [4]}),
    "a convolutional recurrence": Case(
        "pad h\nh[t,s,j] = tanh(x[t,s,j] + sum[d](W[d,j,I] h[t-1,s+d,I]))\ncentered d",
        {"x": (3, 5, 2), "W": (3, 2, 2)}),
    "a state looked up": Case("h[t,j] = tanh(x[t,j] + h[t-1,p[t,j]])", {"x": (4, 3), "p": words(3, 4, 3)}, {"h": [3]}),
    "a condition on time": Case(
        "h[t,j] = cases(tanh(x[t,j] + h[t-1,j]) if m[t] > 0, h[t-1,j] otherwise)",
        {"x": (6, 3), "m": (6,)}, {"h": [3]}),
    "stride 2, dilated": Case("y[b,t,i] = W[D,I,i] x[b,2*t+3*D,I]", {"W": (2, 3, 4), "x": (2, 9, 3)}),
    "stride 2, padded": Case("pad x\ny[b,t,i] = W[D,I,i] x[b,2*t+D-1,I]", {"W": (3, 3, 4), "x": (2, 7, 3)}),
    "flipped window": Case("pad x\ny[t,i] = W[D,I,i] x[t-D,I]", {"W": (3, 2, 4), "x": (6, 2)}),
    "reversed": Case("y[t,i] = x[T-1-t,i]", {"x": (5, 2)}),
    "a window that is kept": Case("y[t,d] = x[t+d] w[d]", {"x": (6,), "w": (3,)}),
    "three indices in one axis": Case("y[t] = sum[a,b](x[t+a+2*b] u[a] v[b])", {"x": (9,), "u": (2,), "v": (3,)}),
    "a window over a function": Case("pad x\ny[t] = sum[d](w[d] tanh(x[t+d]))", {"x": (6,), "w": (3,)}),
    "weights' gradient of a convolution": Case(
        "dW[d,i,j] = dy[B,T,j] x[B,T+d,i]", {"dy": (2, 6, 3), "x": (2, 8, 4)}),
    "inputs' gradient of a strided convolution": Case(
        "dx[b,s,i] = sum[t,d]([s == 2*t+d] dy[b,t,J] W[d,i,J])", {"dy": (2, 3, 4), "W": (3, 2, 4)}, {}, {"S": 8}),
    "padding read far outside": Case("pad x\ny[t] = x[t-9] + x[t+9] + x[t-1]", {"x": (4,)}),
    "a window of a boundary": Case("y[t] = x[t-1] + 2*x[t+1] + 3*x[t-2]", {"x": (5,)}, {"x": ([2], 7.0)}),
    "diagonal": Case("y[i] = A[i,i] + A[i,0] + x[I-1]", {"A": (4, 4), "x": (5,)}),
    "trace of three": Case("y = A[I,I,I]", {"A": (3, 3, 3)}),
    "lookup along a shared axis": Case("y[b,t] = P[b,t,w[b,t]]", {"P": (2, 3, 5), "w": words(5, 2, 3)}),
    "two lookups": Case("y[b] = A[u[b],w[b]] + e[u[b],I] f[I,w[b]]",
                        {"A": (4, 5), "u": words(4, 3), "w": words(5, 3), "e": (4, 2), "f": (2, 5)}),
    "lookup in a lookup": Case("y[b,i] = e[w[p[b]],i]", {"e": (5, 3), "w": words(5, 4), "p": words(4, 6)}),
    "shifted lookup": Case("pad e\ny[b,i] = e[w[b]+1,i]", {"e": (5, 3), "w": torch.tensor([0, 3, 4])}),
    "adding to looked-up rows": Case("de[v,i] = sum[b,t]([w[b,t] == v] dx[b,t,i])",
                                     {"w": words(5, 2, 6), "dx": (2, 6, 3)}, {}, {"V": 5}),
    "adding to rows, one table a sentence": Case(
        "c[b,v] = sum[t]([w[b,t] == v] x[b,t])", {"w": words(5, 2, 6), "x": (2, 6)}, {}, {"V": 5}),
    "picking by a condition": Case("y[t,i] = sum[s]([s == 2*t+1] x[s,i])", {"x": (7, 2)}, {}, {"T": 5}),
    "solving a condition": Case("y[s,i] = sum[t]([s == t+2] x[t,i])", {"x": (7, 2)}, {}, {"S": 6}),
    "a real number compared with an index": Case(
        "y[v] = sum[b]([r[b] == v] x[b])\nz[b,v] = [r[b] <= v] u[v]",
        {"r": torch.tensor([1, 0.5, 2, 1], dtype=torch.float64), "x": (4,), "u": (3,)}, {}, {"V": 3}),
    "a computed index": Case("p[t] = w[T-1-t]\ny[t,i] = e[p[t],i]", {"w": words(4, 5), "e": (4, 2)}),
    "one-hot": Case("y[b,v] = [v == w[b]] - p[b,v]", {"w": words(5, 3), "p": (3, 5)}),
    "a condition keeps reads inside": Case("y[t] = sum[s, s <= t](a[s] x[t-s])", {"a": (5,), "x": (5,)}),
    "a sum with a condition": Case("y[t,i] = sum[s, s < t](A[t,s] x[s,i])", {"A": (5, 5), "x": (5, 2)}),
    "logarithm where it is defined": Case("y[t] = sum[s, s < t](log(t - s) x[s])", {"x": (5,)}, {}, {"T": 5}),
    "cases": Case("y[i,j] = cases(x[i,j] if i < j, log(x[i,j]^2) if i > j, 1/2 otherwise)", {"x": (4, 4)}),
    "clipping": Case("n = sqrt(sum[i](g[i]^2))\nc[i] = cases(g[i] if n <= m, m g[i] / n otherwise)",
                     {"g": (5,), "m": ()}),
    "max, min, prod": Case("y[b] = max[t](x[b,t]) - min[t](x[b,t]) + prod[t](x[b,t])", {"x": (3, 4)}),
    "max with a condition": Case("y[s] = max[t, t <= s](x[s,t])", {"x": (4, 4)}),
    "max over two": Case("y[b] = max[i,j](x[i,b,j])", {"x": (2, 3, 4)}),
    "max and min of two": Case("y[i] = max(x[i], 0) + min(x[i], z[i]) - max(x[i], z[i], 1/3)", {"x": (5,), "z": (5,)}),
    "powers": Case("y[i] = x[i]^2 - x[i]^3 + exp(x[i])^(1/2) + 2^x[i] + exp(x[i])^z[i]", {"x": (4,), "z": (4,)}),
    "softmax of what does not depend on it": Case("a[t,s] = softmax[s](x[t] + 0*z[s])", {"x": (3,), "z": (4,)}),
    "softmax over two of three": Case("a[x,b,y] = softmax[x,y](z[b,x,y])", {"z": (2, 3, 4)}),
    "log softmax": Case("y[b,v] = log(softmax[v](z[b,v]))", {"z": (2, 5)}),
    "positions as numbers": Case("d[s,t] = (s - t)^2\ny = a[S,T] d[S,T]", {"a": (4, 4)}),
    "sum of a sum": Case("y[j] = sum[i](W[j,i] (x[i] + sum[k](U[i,k] z[k])))",
                         {"W": (3, 4), "x": (4,), "U": (4, 5), "z": (5,)}),
    "a sum twice in a product": Case("y[b] = (x[b,I] u[I]) (x[b,I] v[I])", {"x": (3, 4), "u": (4,), "v": (4,)}),
    "nine factors": Case("y = a[A] P[A,B] P[B,C] P[C,D] P[D,E] P[E,F] P[F,G] P[G,H] b[H]",
                         {"a": (2,), "P": (2, 2), "b": (2,)}),
    "quotients": Case("y[b,i] = x[b,i] / sum[j](exp(x[b,j])) / sqrt(I)", {"x": (3, 4)}),
    "mean": Case("m[b] = sum[t](x[b,t]) / T", {"x": (3, 4)}),
    "layer norm": Case(
        "m[t] = sum[i](x[t,i]) / I\ns[t] = sqrt(sum[i]((x[t,i] - m[t])^2) / I)\n"
        "y[t,i] = g[i] (x[t,i] - m[t]) / s[t] + c[i]",
        {"x": (3, 4), "g": (4,), "c": (4,)}),
    "transpose and outer": Case("y[i,j] = x[j,i] + u[i] v[j]", {"x": (3, 4), "u": (4,), "v": (3,)}),
    "a concatenation with a broadcast part": Case("y[b,t,C] = (x[b,t,I]; p[t,K]; q[b,L])\nz = y[B,T,C]",
                                                  {"x": (2, 3, 4), "p": (3, 2), "q": (2, 5)}),
    "sizes that no tensor fixes": Case("y[i,j] = x[j] i + sum[k](k i)", {"x": (2,)}, {}, {"I": 3, "k": 4}),
}  # fmt: skip
