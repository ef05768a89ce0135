# ruff: noqa: E501  (a line of these tables is an equation, or a sentence)
"""Comparison: right variants are equal, every wrong form of the course is rejected and, where a rule exists, named."""

import random
import statistics
from dataclasses import replace

import pytest

from coursekit.notation import Equations, NotationError
from coursekit.notation.check.checker import check
from coursekit.notation.compare.comparison import compare
from coursekit.notation.compare.draws import draw
from coursekit.notation.compare.draws import engine as the_engine
from coursekit.notation.parse.parser import parse
from coursekit.notation.tree import Add, Mul, Program, free_indices, substitute, transform

pytestmark = pytest.mark.usefixtures("engine")

GRU = """
G1[b,t,j] = sigmoid(Wh1[j,I] h[b,t-1,I] + Wx1[j,K] x[b,t,K] - B1[j])
G2[b,t,j] = sigmoid(Wh2[j,I] h[b,t-1,I] + Wx2[j,K] x[b,t,K] - B2[j])
R[b,t,j] = tanh(WhR[j,I] G1[b,t,I] h[b,t-1,I] + WxR[j,K] x[b,t,K] - BR[j])
h[b,t,j] = (1 - G2[b,t,j]) h[b,t-1,j] + G2[b,t,j] R[b,t,j]
"""
GRU_NAMED = (
    GRU.replace("WhR[j,I] G1[b,t,I] h[b,t-1,I]", "WhR[j,I] hr[b,t,I]") + "hr[b,t,i] = G1[b,t,i] h[b,t-1,i]\n"
)
BLANK = "P[t,w] = softmax[w](e[w,I] Wf[I,J] hf[t-1,J] + e[w,I] Wb[I,J] hb[t+1,J])"
CAPTION = """
P[t,v] = softmax[v](e[v,I] Wauto[I,J] h[t-1,J])
alpha[t,x,y] = softmax[x,y](h[t-1,J] Wkey[J,K] M[x,y,K])
V[t,k] = alpha[t,X,Y] M[X,Y,k]
h[t,J] = CELL(h[t-1,J], V[t,K], e[w[t],I])
"""
UGCNN = """
centered dx, dy
pad L
R[b,x,y,j] = tanh(sum[dx,dy,j'](WR[dx,dy,j',j] L[b,x+dx,y+dy,j']) - BR[j])
G[b,x,y,j] = sigmoid(sum[dx,dy,j'](WG[dx,dy,j',j] L[b,x+dx,y+dy,j']) - BG[j])
L'[b,x,y,j] = G[b,x,y,j] L[b,x,y,j] + (1 - G[b,x,y,j]) R[b,x,y,j]
"""
CONV = "L'[b,t,i] = sigmoid(sum[dt,i'](W[dt,i',i] L[b,2*t+dt,i']) - B[i])"
MERGED = "W[k,j1,j2] = 1/sqrt(I) WQ[k,I,j1] WK[k,I,j2]"
ATTENTION = """
Q[k,t,i] = WQ[k,i,J] L[t,J]
Key[k,t,i] = WK[k,i,J] L[t,J]
alpha[k,t1,t2] = softmax[t2](1/sqrt(I) Q[k,t1,I] Key[k,t2,I])
V[k,t,i] = WV[k,i,J] L[t,J]
H[k,t,i] = alpha[k,t,T2] V[k,T2,i]
O[t,j] = WO[j,K,I] H[K,t,I]
"""
HEADS = ATTENTION.replace(
    "O[t,j] = WO[j,K,I] H[K,t,I]", "Hat[t,C] = H[0,t,I]; ...; H[K-1,t,I]\nO[t,j] = WO[j,C] Hat[t,C]"
)
UGRNN = """
R[b,t,j] = tanh(WhR[j,I] h[b,t-1,I] + WxR[j,K] x[b,t,K] - BR[j])
G[b,t,j] = sigmoid(WhG[j,I] h[b,t-1,I] + WxG[j,K] x[b,t,K] - BG[j])
h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R[b,t,j]
"""
SYSTEMS = {
    "GRU": GRU, "GRU_NAMED": GRU_NAMED, "BLANK": BLANK, "CAPTION": CAPTION, "UGCNN": UGCNN, "CONV": CONV,
    "MERGED": MERGED, "ATTENTION": ATTENTION, "HEADS": HEADS, "UGRNN": UGRNN,
}  # fmt: skip


def system(text):
    return check(parse(text))


REFERENCES = {name: system(text) for name, text in SYSTEMS.items()}


def result(name, answer, **options):
    return compare(REFERENCES[name], system(answer), **options)


def edit(name, *changes):
    text = SYSTEMS[name]
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


# ── right ────────────────────────────────────────────────────────────────────────────────────

MIX = "(1 - G2[b,t,j]) h[b,t-1,j] + G2[b,t,j] R[b,t,j]"
RIGHT = [
    ("GRU", edit("GRU", (MIX, "h[b,t-1,j] + G2[b,t,j] (R[b,t,j] - h[b,t-1,j])"))),
    ("GRU", GRU_NAMED),
    ("GRU_NAMED", GRU),
    ("GRU", "\n".join(reversed(GRU.strip().splitlines()))),
    ("GRU", edit("GRU", ("[b,", "[n,"), (",t", ",s"), ("K]", "M]"))),
    ("GRU", edit("GRU", ("Wh1[j,I] h[b,t-1,I] + Wx1[j,K] x[b,t,K] - B1[j]", "-B1[j] + x[b,t,K] Wx1[j,K] + h[b,t-1,I] Wh1[j,I]"))),
    ("GRU", edit("GRU", ("sigmoid(Wh2[j,I] h[b,t-1,I] + Wx2[j,K] x[b,t,K] - B2[j])",
                         "1/(1 + exp(B2[j] - Wh2[j,I] h[b,t-1,I] - Wx2[j,K] x[b,t,K]))"))),
    ("GRU", edit("GRU", ("G2[b,t,j]", "Z[b,t,j]"))),  # another name for an intermediate
    ("GRU", edit("GRU", ("G2[b,t,j] = sigmoid(", "G2[b,t,j] = 1 - sigmoid("), (MIX, "G2[b,t,j] h[b,t-1,j] + (1 - G2[b,t,j]) R[b,t,j]"))),
    ("UGRNN", r"""
     R[b,t,j] = \tanh\left(W^{hR}[j,I]\, h[b,t-1,I] + W^{xR}[j,K]\, x[b,t,K] - B^R[j]\right) \\
     G[b,t,j] = \sigma\left(W^{hG}[j,I]\, h[b,t-1,I] + W^{xG}[j,K]\, x[b,t,K] - B^G[j]\right) \\
     h[b,t,j] = G[b,t,j] \odot h[b,t-1,j] + (1 - G[b,t,j]) \odot R[b,t,j]""".replace("W^{", "W_{").replace("B^", "B_")),
    ("BLANK", "P[t,w] = softmax[w](e[w,I] (Wf[I,J] hf[t-1,J] + Wb[I,J] hb[t+1,J]))"),
    ("BLANK", "s[t,w] = exp(e[w,I] Wf[I,J] hf[t-1,J] + e[w,I] Wb[I,J] hb[t+1,J])\nP[t,w] = s[t,w] / sum[v](s[t,v])"),
    ("CAPTION", edit("CAPTION", ("softmax[x,y](h[t-1,J] Wkey[J,K] M[x,y,K])", "softmax[y,x](M[x,y,K] Wkey[J,K] h[t-1,J])"))),
    ("UGCNN", edit("UGCNN", ("centered dx, dy\npad L\n", ""), ("dx", "a"), ("dy", "c"))),  # conventions are the question's
    ("UGCNN", edit("UGCNN", ("G[b,x,y,j] L[b,x,y,j] + (1 - G[b,x,y,j]) R[b,x,y,j]", "R[b,x,y,j] + G[b,x,y,j] (L[b,x,y,j] - R[b,x,y,j])"))),
    ("CONV", "L'[b,t,i] = sigmoid(W[DT,I,i] L[b,2*t+DT,I] - B[i])"),
    ("MERGED", "W[k,a,c] = WQ[k,I,a] WK[k,I,c] / sqrt(I)"),
    ("MERGED", "Q[k,a,i] = WQ[k,i,a]\nW[k,a,c] = I^(-1/2) Q[k,a,I] WK[k,I,c]"),
    ("ATTENTION", edit("ATTENTION", ("alpha[k,t1,t2] = softmax[t2](1/sqrt(I) Q[k,t1,I] Key[k,t2,I])",
                                     "alpha[k,t1,t2] = softmax[t2](1/sqrt(I) WQ[k,I,J] L[t1,J] WK[k,I,N] L[t2,N])"),
                                    ("Q[k,t,i] = WQ[k,i,J] L[t,J]\nKey[k,t,i] = WK[k,i,J] L[t,J]\n", ""))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_other_right_forms_are_equal(name, answer):
    if name == "UGRNN":
        reference = system(
            UGRNN.replace("Wh", "W_h").replace("Wx", "W_x").replace("BR", "B_R").replace("BG", "B_G")
        )
        found = compare(reference, system(answer))
    else:
        found = result(name, answer)
    assert found.equal, found.message


# ── wrong: the forms of the course's list, with the kind where a rule names it ───────────────

SCORES = "h[t-1,J] Wkey[J,K] M[x,y,K]"
BOTH = "e[w,I] Wf[I,J] hf[t-1,J] + e[w,I] Wb[I,J] hb[t+1,J]"
WRONG = [
    # 0.2 GRU
    ("GRU", [("WhR[j,I] G1[b,t,I] h[b,t-1,I]", "G1[b,t,j] (WhR[j,I] h[b,t-1,I])")], "R", "reset after product"),
    ("GRU_NAMED", [("WhR[j,I] hr[b,t,I]", "G1[b,t,j] (WhR[j,I] h[b,t-1,I])")], "R", "reset after product"),
    ("GRU", [("G1[b,t,I] h[b,t-1,I]", "h[b,t-1,I]")], "R", "missing factor"),
    ("GRU", [(MIX, "G2[b,t,j] h[b,t-1,j] + (1 - G2[b,t,j]) R[b,t,j]")], "h", "gate swapped"),
    ("GRU", [("- B", "+ B")], "G1", "sign"),
    ("GRU", [(MIX, "(1 - G2[b,t,j]) G1[b,t,j] h[b,t-1,j] + G2[b,t,j] R[b,t,j]")], "h", "extra factor"),
    ("GRU_NAMED", [(MIX, "(1 - G2[b,t,j]) hr[b,t,j] + G2[b,t,j] R[b,t,j]")], "h", "wrong tensor"),
    ("GRU", [(MIX, MIX.replace("G2", "G1"))], "h", "wrong tensor"),
    ("GRU", [("G1[b,t,I] h", "(1 - G1[b,t,I]) h")], "R", "complement"),
    ("GRU", [("tanh", "sigmoid")], "R", "activation"),
    ("GRU", [(MIX, "h[b,t-1,j] + G2[b,t,j] R[b,t,j]")], "h", "missing factor"),
    ("GRU", [("sigmoid", "tanh")], "G1", "activation"),
    ("GRU", [("WhR[j,I] G1[b,t,I] h[b,t-1,I]", "WhR[j,I] h[b,t-1,I]"), ("x[b,t,K] - BR", "x[b,t,K] G1[b,t,1] - BR")], "R", None),
    ("GRU", [("Wh1[j,I]", "Wh1[I,j]")], "G1", "transpose"),
    ("GRU", [("Wh1[j,I]", "Wh2[j,I]")], "G1", "wrong tensor"),
    # 0.3 blank
    ("BLANK", [("hf[t-1", "hf[t"), ("hb[t+1", "hb[t")], "P", "shifted index"),
    ("BLANK", [("hf[t-1", "hf[t")], "P", "shifted index"),
    ("BLANK", [(" + e[w,I] Wb[I,J] hb[t+1,J]", "")], "P", "missing term"),
    ("BLANK", [("hb[t+1", "hb[t-1")], "P", "shifted index"),
    ("BLANK", [("Wf", "Wx"), ("Wb", "Wf"), ("Wx", "Wb")], "P", "tensors swapped"),
    ("BLANK", [(f"softmax[w]({BOTH})", "1/2 softmax[w](e[w,I] Wf[I,J] hf[t-1,J]) + 1/2 softmax[w](e[w,I] Wb[I,J] hb[t+1,J])")],
     "P", "softmax of each term"),
    ("BLANK", [(f"softmax[w]({BOTH})", "softmax[w](e[w,I] Wf[I,J] hf[t-1,J]) softmax[w](e[w,I] Wb[I,J] hb[t+1,J])")],
     "P", "softmax of each term"),
    ("BLANK", [("softmax[w]", "sigmoid")], "P", "activation"),
    ("BLANK", [("Wb", "Wf")], "P", "wrong tensor"),
    ("BLANK", [("softmax[w]", "softmax[t]")], "P", "softmax index"),
    # 0.4 captioning
    ("CAPTION", [("softmax[x,y]", "softmax[x]")], "alpha", "softmax index"),
    ("CAPTION", [("softmax[x,y]", "softmax[y]")], "alpha", "softmax index"),
    ("CAPTION", [(f"softmax[x,y]({SCORES})", f"softmax[x]({SCORES}) softmax[y]({SCORES})")], "alpha", "softmax index"),
    ("CAPTION", [("alpha[t,X,Y] M[X,Y,k]", "1/(X Y) M[X,Y,k] + 0*alpha[t,0,0]")], "V", "missing factor"),
    ("CAPTION", [("alpha[t,X,Y] M[X,Y,k]", "M[X,Y,k] + 0*alpha[t,0,0]")], "V", "missing factor"),
    ("CAPTION", [("softmax[x,y]", "")], "alpha", "missing softmax"),
    ("CAPTION", [(SCORES, f"1/sqrt(K) {SCORES}")], "alpha", "scale"),
    ("CAPTION", [("CELL(h[t-1,J], V[t,K]", "CELL(h[t-1,J], -V[t,K]")], "h", "sign"),
    ("CAPTION", [("alpha[t,X,Y] M[X,Y,k]", "sum[x,y]([alpha[t,x,y] == max[u,v](alpha[t,u,v])] M[x,y,k])")], "V", "hard choice"),
    # 0.5 UGCNN
    ("UGCNN", [("WR[dx,dy,j',j]", "WR[dx,dy,j,j']")], "R", "transpose"),
    ("UGCNN", [("L[b,x+dx,y+dy,j']", "L[b,x-dx,y-dy,j']")], "R", "flipped window"),
    ("UGCNN", [("G[b,x,y,j] L[b,x,y,j] + (1 - G[b,x,y,j]) R[b,x,y,j]", "(1 - G[b,x,y,j]) L[b,x,y,j] + G[b,x,y,j] R[b,x,y,j]")],
     "L'", "gate swapped"),
    ("UGCNN", [("- BG", "+ BG")], "G", "sign"),
    ("UGCNN", [("G[b,x,y,j] L[b,x,y,j] + (1 - G[b,x,y,j]) R[b,x,y,j]", "L[b,x,y,j] + R[b,x,y,j]")], "L'", "missing factor"),
    ("UGCNN", [("sigmoid", "tanh")], "G", "activation"),
    ("UGCNN", [("G[b,x,y,j] L[b,x,y,j]", "1/J G[b,x,y,J] L[b,x,y,j]"), ("(1 - G[b,x,y,j])", "(1 - 1/J G[b,x,y,J])")], "L'", "averaged"),
    ("UGCNN", [("sum[dx,dy,j'](WG[dx,dy,j',j] L[b,x+dx,y+dy,j'])", "sum[j'](WG[0,0,j',j] L[b,x,y,j'])")], "G", None),
    ("UGCNN", [("L[b,x+dx,y+dy,j']) - BG", "L[b,x,y,j']) - BG")], "G", "missing sum"),
    ("UGCNN", [("L[b,x+dx,y+dy,j']", "L[b,x+dx+1,y+dy+1,j']")], "R", "shifted index"),
    # 0.6.b
    ("CONV", [("2*t+dt", "t+dt")], "L'", "stride"),
    ("CONV", [("2*t+dt", "2*t+2*dt")], "L'", "stride"),
    ("CONV", [("sum[dt,i'](W[dt,i',i] L[b,2*t+dt,i'])", "sum[i'](W[0,i',i] L[b,2*t,i'])")], "L'", "missing sum"),
    ("CONV", [("- B", "+ B")], "L'", "sign"),
    ("CONV", [("sigmoid", "")], "L'", "activation"),
    ("CONV", [("sigmoid", "relu")], "L'", "activation"),
    ("CONV", [("W[dt,i',i]", "W[dt,i,i']")], "W", "transpose"),
    # 2.3.b and 2.5.a
    ("MERGED", [("WQ[k,I,j1] WK[k,I,j2]", "WQ[k,I,j2] WK[k,I,j1]")], "W", "index swapped"),
    ("MERGED", [("1/sqrt(I) ", "")], "W", "scale"),
    ("MERGED", [("1/sqrt(I)", "1/I")], "W", "scale"),
    ("MERGED", [("1/sqrt(I)", "1/sqrt(J1)")], "W", "scale"),
    ("MERGED", [("WQ[k,I,j1] WK[k,I,j2]", "(WQ[k,I,j1]) (sum[i](WK[k,i,j2]))")], "W", "sum scope"),
    ("MERGED", [("1/sqrt(I)", "-1/sqrt(I)")], "W", "sign"),
    # 4.S37 and 4.S38
    ("ATTENTION", [("1/sqrt(I) ", "")], "alpha", "scale"),
    ("ATTENTION", [("1/sqrt(I)", "1/I")], "alpha", "scale"),
    ("ATTENTION", [("1/sqrt(I)", "1/sqrt(J)")], "alpha", "scale"),
    ("ATTENTION", [("WO[j,K,I] H", "WO[K,I,j] H")], "WO", "transpose"),
    ("ATTENTION", [("WO[j,K,I] H[K,t,I]", "H[K,t,j]")], "O", "shape"),  # no W^O, heads summed
    ("ATTENTION", [("V[k,t,i] = WV[k,i,J] L[t,J]\n", ""), ("V[k,T2,i]", "L[T2,i]")], None, "wrong tensor"),  # no W^V
    ("HEADS", [("H[0,t,I]; ...; H[K-1,t,I]", "concat[I,K](H[K,t,I])")], "Hat", "interleaved"),
    ("HEADS", [("WO[j,C] Hat[t,C]", "Hat[t,j]")], "O", "shape"),  # no W^O
    ("HEADS", [("WO[j,C] Hat", "WO[C,j] Hat")], None, "shape"),  # W^O transposed
    ("ATTENTION", [("softmax[t2]", "softmax[t1]")], "alpha", "softmax index"),
    ("ATTENTION", [("softmax[t2]", "softmax[k]")], "alpha", "softmax index"),
    ("ATTENTION", [("Q[k,t1,I] Key[k,t2,I]", "Q[k,t2,I] Key[k,t1,I]")], "alpha", "tensors swapped"),
    ("ATTENTION", [("softmax[t2](", "softmax[t2 <= t1](")], "alpha", "mask"),
    ("ATTENTION", [("softmax[t2](", "softmax[t2 != t1](")], "alpha", "mask"),
    ("ATTENTION", [("WO[j,K,I] H[K,t,I]", "WO[j,K,I] H[K,t,I] + L[t,j]")], None, None),  # the two widths differ here
    ("ATTENTION", [("alpha[k,t,T2] V[k,T2,i]", "alpha[k,T2,t] V[k,T2,i]")], "H", "sum index"),
    # time
    ("UGRNN", [("(1 - G[b,t,j]) R[b,t,j]", "(1 - G[b,t-1,j]) R[b,t,j]")], "h", "shifted index"),
    ("UGRNN", [("x[b,t,K] - BR", "x[b,t-1,K] - BR")], "R", "shifted index"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "tensor", "kind"), WRONG)
def test_wrong_forms_are_rejected_and_named(name, changes, tensor, kind):
    found = result(name, edit(name, *changes))
    assert not found.equal
    assert found.message
    assert found.kind == kind or kind is None, (found.kind, found.message)
    assert found.tensor == tensor or tensor is None, (found.tensor, found.message)


def test_the_sentence_says_what_the_student_did():
    found = result("CAPTION", edit("CAPTION", ("softmax[x,y]", "softmax[x]")))
    assert found.message.startswith(
        "You took the softmax over `x` alone; it must run over `x` and `y` together."
    )
    found = result("GRU", edit("GRU", ("- B2", "+ B2")))
    assert found.message.startswith("You added `B2[j]` in `G2`; it must be subtracted.")
    assert found.tensor == "G2"
    assert found.index[1] == 0
    assert found.error > 1e-3
    assert f"{found.expected:.6g}" in found.message
    assert f"{found.got:.6g}" in found.message


LSTM = """
i[t,j] = sigmoid(W_i[j,K] x[t,K] + U_i[j,I] h[t-1,I])
f[t,j] = sigmoid(W_f[j,K] x[t,K] + U_f[j,I] h[t-1,I])
o[t,j] = sigmoid(W_o[j,K] x[t,K] + U_o[j,I] h[t-1,I])
g[t,j] = tanh(W_g[j,K] x[t,K] + U_g[j,I] h[t-1,I])
c[t,j] = f[t,j] c[t-1,j] + i[t,j] g[t,j]
h[t,j] = o[t,j] tanh(c[t,j])
"""
CAUSAL = "a[s,t] = softmax[t <= s](q[s,I] k[t,I])\nz[s,i] = a[s,T] v[T,i]"
SCALED = "y[b,i] = x[b,i]/sqrt(v[b]^2 + e_0)"
RESET = "r[j] = sigmoid(Wr[j,I] h[I])\nn[j] = tanh(W[j,I] r[I] h[I] + U[j,K] x[K]) + h[j]"


@pytest.mark.parametrize(
    ("reference", "old", "new", "tensor", "kind", "words"),
    [
        (LSTM, "o[t,j] tanh(c[t,j])", "tanh(o[t,j] c[t,j])", "h", "gate misplaced", "you put it inside"),
        (LSTM, "f[t,j] c[t-1,j] + i[t,j] g[t,j]", "c[t-1,j] + f[t,j] i[t,j] g[t,j]", "c", "gate misplaced", "`c[t-1,j]`, not"),
        (LSTM, "U_o[j,I] h[t-1,I]", "U_o[I,j] h[t-1,I]", "o", "transpose", "`U_o` is transposed"),
        (LSTM, "W_g[j,K] x[t,K] + ", "", "g", "missing term", "`W_g[j,K] x[t,K]` is missing"),
        ("y[b] = 1/J sum[j](x[b,j])", "1/J", "1/(J-1)", "y", "scale", "You scaled by `1/(J - 1)`; it must be `1/J`"),
        ("L = -sum[k](y[k] log(p[k]))", "log(p[k])", "p[k]", "L", "activation", "The function `log` is missing"),
        ("y[j] = x[j]/sqrt(v + 1)", "sqrt(v + 1)", "(v + 1)", "y", "activation", "The function `sqrt` is missing"),
        ("y[j] = relu(x[j])", "relu", "gelu", "y", "activation", "You used `gelu`"),
        ("dz[j] = dh[j] (1 - h[j]^2)", "(1 - h[j]^2)", "h[j] (1 - h[j])", "dz", "activation", "slope of `sigmoid`"),
        ("dz[j] = dh[j] h[j] (1 - h[j])", "h[j] (1 - h[j])", "(1 - h[j]^2)", "dz", "activation", "slope of `tanh`"),
        ("v[b] = 1/J sum[j]((x[b,j] - m[b])^2)", "^2", "", "v", "missing factor", "the power is missing"),
        ("a[t,s] = softmax[s](q[t,D] k[s,D])", "[s]", "[s, s <= t]", "a", "mask", "You masked the future"),
        (RESET, "W[j,I] r[I] h[I] + U[j,K] x[K]", "W[j,I] h[I] + r[j] U[j,K] x[K]", "n", "gate misplaced", "it must multiply `W[j,I] h[I]`"),
        (CAUSAL, "t <= s", "t < s", "a", "mask", "the equal ones count too"),
        (CAUSAL, "t <= s", "t >= s", "a", "mask", "the wrong way round"),
        (CAUSAL, "[t <= s]", "[t]", "a", "mask", "is missing"),
        ("y[t] = sum[s]([s <= t] x[s])", "<=", "<", "y", "mask", "You wrote `s < t`"),
        ("y[t] = sum[s, s <= t](x[s] w[t])", ", s <= t", "", "y", "mask", "condition on `s` is missing"),
        ("y[b] = logsumexp[i](x[b,i])", "logsumexp", "max", "y", "hard choice", "You took the maximum over `i`"),
        ("y[b] = log(sum[i](exp(x[b,i])))", "log(sum[i](exp(x[b,i])))", "max[i](x[b,i])", "y", "hard choice", "log of the sum"),
        (SCALED, "sqrt(v[b]^2 + e_0)", "(sqrt(v[b]^2) + e_0)", "y", "epsilon", "`e_0` outside the root"),
        ("y[b,j] = W[j,I] x[b,I] + B_0[j]", " + B_0[j]", "", "y", "missing term", "`B_0[j]` is missing"),
        ("y[b] = 1/B sum[j](x[b,j])", "1/B", "1/J", "y", "scale", "You scaled by `1/J`; it must be `1/B`"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_in_the_equation_that_makes_it(reference, old, new, tensor, kind, words):
    """In a recurrence the other equations' tensors differ as well; they are not blamed."""
    assert old in reference
    found = compare(system(reference), system(reference.replace(old, new)))
    assert (found.equal, found.tensor, found.kind) == (False, tensor, kind), found.message
    assert words in found.message


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("J = sum[i](x[i]^2)", "J = sum[i](x[i]^4)"),
        ("y[b] = 1/J sum[j](x[b,j])", "y[b] = 1/(J+1) sum[j](x[b,j])"),
        ("y[b] = 1/J sum[j](x[b,j])", "y[b] = 1/(J+B) sum[j](x[b,j])"),
        ("y[t] = x[t] + c", "y[t] = x[t] + c^2"),
    ],
)
def test_no_factor_and_no_scale_is_claimed_that_another_draw_refutes(reference, answer):
    found = compare(system(reference), system(answer))
    assert (found.equal, found.kind) == (False, "different"), found.message


# ── answers that cannot be run beside the reference ──────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "changes", "kind", "words"),
    [
        ("GRU", [("WhR[j,I] G1[b,t,I] h[b,t-1,I]", "WhR[j,I] htilde[b,t,I]")], "unknown tensor", "neither given nor defined"),
        ("GRU", [("BR[j]", "B_R[j]")], "unknown tensor", "did you mean `BR`"),
        ("GRU", [("h[b,t,j] =", "hnew[b,t,j] ="), ("h[b,t-1", "hnew[b,t-1")], "missing tensor", "do not define `h`"),
        ("GRU", [("G2[b,t,j] = ", "G3[b,t,j] = ")], "missing tensor", "`G2` but do not define it"),
        ("GRU", [("Wx1[j,K]", "Wx1[K,j]")], "transpose", "`Wx1` is transposed"),
        ("GRU", [("x[b,t,K]", "x[b,t,I]"), ("Wx1[j,K]", "Wx1[j,I]"), ("Wx2[j,K]", "Wx2[j,I]"), ("WxR[j,K]", "WxR[j,I]")], "size", "must be equal"),
        ("CONV", [("[b,", "[")], "shape", "3 indices"),
        ("MERGED", [("W[k,j1,j2]", "W[j1,j2]"), ("WQ[k", "WQ[K"), ("WK[k", "WK[K")], "shape", "3 indices"),
        ("MERGED", [("1/sqrt(I) WQ[k,I,j1] WK[k,I,j2]", "WQ[k,j1,J] WK[k,j2,J]")], "size", "must be equal"),
        ("BLANK", [("e[w,I] Wf[I,J] hf[t-1,J]", "e[w,J] hf[t-1,J]")], "size", "must be equal"),
        ("UGRNN", [("tanh(", "log(")], "not finite", "not a number"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_told_in_the_reader_s_terms(name, changes, kind, words):
    found = result(name, edit(name, *changes))
    assert (found.equal, found.kind) == (False, kind), found.message
    assert words in found.message


def test_a_misspelt_intermediate_is_recognised():
    reference = system("h_tilde[t,j] = W[j,I] x[t,I]\nh[t,j] = tanh(h_tilde[t,j])")
    found = compare(reference, system("h[t,j] = tanh(htilde[t,j])"))
    assert (found.kind, found.tensor) == ("unknown tensor", "htilde")
    assert "did you mean `h_tilde`" in found.message


def test_the_printed_gru_with_an_undefined_state_is_refused():
    """Erratum E0-1: the solution as printed reads a state that nothing defines, and gates the input."""
    reference = Equations("""
        G_1[b,t,j] = sigmoid(W_hG1[j,I] h[b,t-1,I] + W_xG1[j,K] x[b,t,K] - B_G1[j])
        G_2[b,t,j] = sigmoid(W_hG2[j,I] h[b,t-1,I] + W_xG2[j,K] x[b,t,K] - B_G2[j])
        h'[b,t,i] = G_1[b,t,i] h[b,t-1,i]
        R[b,t,j] = tanh(W_hR[j,I] h'[b,t,I] + W_xR[j,K] x[b,t,K] - B_R[j])
        h[b,t,j] = (1 - G_2[b,t,j]) h[b,t-1,j] + G_2[b,t,j] R[b,t,j]""")
    printed = r"""
        $$G_1[b, t, j] = \sigma(W^{h,G_1}[j, I]h[b, t-1, I] + W^{x,G_1}[j, K]x[b, t, K] - B^{G_1}[j])$$
        $$h'[b, t, j] = G_1[b, t, j]x[b, t, j]$$
        $$G_2[b, t, j] = \sigma(W^{h,G_2}[j, I]h[b, t-1, I] + W^{x,G_2}[j, K]x[b, t, K] - B^{G_2}[j])$$
        $$R[b, t, j] = \tanh(W^{h,R}[j, I]\tilde{h}[b, t-1, I] + W^{x,R}[j, K]h'[b, t, K] - B^R[j])$$
        $$h[b, t, j] = (1 - G_2[b, t, j])h[b, t-1, j] + G_2[b, t, j]R[b, t, j]$$"""
    found = reference.compare(printed)
    assert (found.equal, found.kind, found.tensor) == (False, "unknown tensor", "h_tilde")
    assert found.message.startswith("You use `h_tilde`, which is neither given nor defined")
    declared = f"inputs {', '.join(reference.inputs)}\n{printed}"
    with pytest.raises(NotationError, match="`h_tilde` is neither defined nor an input") as error:
        Equations(declared)
    assert (error.value.line, error.value.column) == (6, 43)


def test_numbers_that_are_counted_are_drawn_as_whole_ones():
    """`[w[b,t] == v]` never holds for a real w, and then any two counts would be equal."""
    reference = system("N[v] = sum[b,t]([w[b,t] == v])")
    assert compare(reference, system("N[u] = sum[t,b]([u == w[b,t]])")).equal
    assert compare(reference, system("N[v] = 2 sum[b,t]([w[b,t] == v])")).kind == "constant factor"


def test_a_mistake_in_a_step_that_the_answer_does_not_name_is_found():
    reference = system("s[t,j] = W[j,I] x[t,I] - B[j]\nh[t,j] = tanh(s[t,j])")
    found = compare(reference, system("h[t,j] = tanh(W[j,I] x[t,I] + B[j])"))
    assert (found.kind, found.tensor) == ("sign", "h")


def test_a_given_tensor_must_not_be_defined():
    found = result("MERGED", "WQ[k,i,j] = WK[k,i,j]\nW[k,a,c] = 1/sqrt(I) WQ[k,I,a] WK[k,I,c]")
    assert not found.equal
    assert "`WQ` is given" in found.message


def test_outputs_can_be_chosen():
    swapped = edit("CAPTION", ("softmax[x,y]", "softmax[x]"))
    assert result("CAPTION", swapped, outputs=["P"]).equal is False  # P at later steps depends on alpha
    only = "R[b,x,y,j] = tanh(sum[dx,dy,j'](WR[dx,dy,j',j] L[b,x+dx,y+dy,j']) - BR[j])"
    assert result("UGCNN", only, outputs=["R"]).equal
    assert result("UGCNN", only).kind == "missing tensor"


def test_without_diagnosis_the_numbers_remain():
    found = result("GRU", edit("GRU", ("- B2", "+ B2")), diagnose=False)
    assert not found.equal
    assert found.kind == "different"
    assert found.tensor == "G2"


def test_comparison_is_the_same_every_time():
    answer = edit("GRU", ("tanh", "relu"))
    assert result("GRU", answer) == result("GRU", answer)
    assert result("GRU", answer, seed=1).got != result("GRU", answer).got


def test_own_functions_are_used(engine):
    on_tensors = lambda h, v, e: h + v.sum(-1, keepdim=True) + e.sum(-1, keepdim=True)
    on_lists = lambda h, v, e: [x + sum(v) + sum(e) for x in h]
    cell = {"CELL": on_tensors if engine == "torch" else on_lists}
    swapped = edit("CAPTION", ("CELL(h[t-1,J], V[t,K], e[w[t],I])", "CELL(h[t-1,J], e[w[t],I], V[t,K])"))
    assert not result("CAPTION", swapped).equal  # the random function tells its arguments apart
    assert result("CAPTION", swapped, functions=cell).equal  # this one does not


def test_draws_keep_the_rules_for_test_inputs(engine):
    seen = {True: 0, False: 0}
    drawn = [draw(REFERENCES["CAPTION"], number, 0, None, the_engine(engine)) for number in range(5)]
    assert len(set(drawn[0].sizes.values())) == len(drawn[0].sizes)
    assert len({tuple(d.sizes.values()) for d in drawn}) >= 3
    for each in drawn:
        words = each.inputs["w"].flat
        seen[len(set(words)) < len(words)] += 1
        edge = each.boundary(REFERENCES["CAPTION"])["h"][0]
        assert all(x != 0 for x in edge.flat)
    assert seen[True]
    assert seen[False]
    numbers = [x for d in drawn for n, v in d.inputs.items() for x in v.flat if n != "w"]
    assert abs(statistics.fmean(numbers)) < 0.1
    assert abs(statistics.stdev(numbers) - 1) < 0.1


def test_both_engines_have_the_same_verdict_and_the_same_sentence():
    """The numbers too, but for their last digits."""
    for name, changes, *_ in (case for case in WRONG[::4] if case[0] != "UGCNN"):
        answer = edit(name, *changes)
        mine, theirs = (result(name, answer, engine=word) for word in ("torch", "python"))
        assert (mine.kind, mine.message, mine.index) == (theirs.kind, theirs.message, theirs.index)
        assert mine.got is None or mine.got == pytest.approx(theirs.got, rel=1e-12)


def test_an_engine_that_is_not_known_is_refused():
    with pytest.raises(NotationError, match='the engine is "torch" or "python", not \'numpy\''):
        result("GRU", GRU, engine="numpy")


def rewritten(text, seed):
    """The same system with other index names, factors and terms in another order, and its lines shuffled."""
    draw = random.Random(seed)
    program = parse(text)
    names = sorted({n for e in program.equations for n in free_indices(e.left)})
    fresh = dict(zip(names, draw.sample([f"q{n}" for n in range(len(names))], len(names)), strict=True))

    def shuffle(node):
        if isinstance(node, Mul):
            return replace(node, factors=tuple(draw.sample(node.factors, len(node.factors))))
        if isinstance(node, Add):
            return replace(node, terms=tuple(draw.sample(node.terms, len(node.terms))))
        return node

    equations = [transform(substitute(e, fresh), shuffle) for e in program.equations]
    return Program(tuple(draw.sample(equations, len(equations))))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", [n for n in SYSTEMS if n not in ("CAPTION", "UGCNN")])
def test_renamed_reordered_and_shuffled_systems_are_equal(name, seed):
    assert compare(REFERENCES[name], check(rewritten(SYSTEMS[name], seed))).equal


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("reference", "answer", "kind", "words"),
    [
        ("y[b,o] = relu(F[o,I] x[b,I] + g[o])", "y[b,o] = relu(F[o,I] x[b,I]) + g[o]", "misplaced", "`g[o]` outside `relu`"),
        ("y[t,i] = W[i,J] relu(V[J,K] x[t,K])", "y[t,i] = relu(W[i,J] (V[J,K] x[t,K]))", "sum scope", "`relu` of the sum"),
        ("y[t,i] = A[i,M] h[t,M] + h[t,i]", "y[t,i] = A[i,i] h[t,i] + h[t,i]", "missing sum", "at `i` alone"),
        ("p[n,c] = exp(z[n,c]) / sum[k](exp(z[n,k]))", "p[n,c] = exp(z[n,c]) / sum[k](exp(z[k,c]))", "softmax index", "over `n`"),
        ("p[n,c] = softmax[c](z[n,c])", "p[n,c] = z[n,c] / sum[k](z[n,k])", "missing softmax", "exponentials"),
        ("D = sum[i](p[i] (sin(p[i]) - sin(q[i])))", "D = sum[i](p[i] (p[i] - q[i]))", "activation", "wherever"),
        ("s[t,j] = f[t,j] c[t,j] + g[t,j]", "s[t,j] = f[t,j] + c[t,j] + g[t,j]", "operation", "must be multiplied"),
        ("y[t] = a[t] (x[t] + b[t])", "y[t] = a[t] x[t] + b[t]", "brackets", "Brackets around `x[t] + b[t]`"),
        ("S[t,s] = q[t,D] k[s,D] / sqrt(D)", "S[t,s] = q[t,D] k[s,D] sqrt(D)", "scale", "by `sqrt(D)`"),
        ("z[u,v] = x[2*u,2*v] + x[2*u+1,2*v+1]", "z[u,v] = x[2*u,2*v] + x[2*u+1,2*v]", "shifted index", "x[2*u+1,2*v]"),
        ("y[t,i] = P[t,i] + e[t,i]", "y[t,i] = P[t-1,i] + e[t,i]", "shifted index", "P[t-1,i]"),
        ("y[t] = w[t] - a[t]/(x[t] + 2)", "y[t] = w[t] - a[t]/x[t] + 2", "brackets", "Brackets around `x[t] + 2`"),
        ("p[n,c] = softmax[c](z[n,c])", "p[n,c] = softmax[c](tanh(z[n,c]))", "activation", "under the softmax"),
        ("h[t,j] = tanh(x[t,j])\ny[j] = h[T-1,j]", "h[t,j] = tanh(x[t,j])\ny[j] = h[0,j]", "shifted index", "`h[0,j]`"),
        ("p[t,s] = softmax[s](q[t,D] k[s,D]/sqrt(D))", "p[t,s] = softmax[s](q[t,D] k[s,D])/sqrt(D)", "misplaced", "after the softmax"),
        ("p[t,s] = softmax[s](1/D q[t,D] k[s,D])", "p[t,s] = 1/D softmax[s](q[t,D] k[s,D])", "misplaced", "after the softmax"),
        ("p[t,s] = softmax[s <= t](z[t,s])", "p[t,s] = [s <= t] softmax[s](z[t,s])", "mask", "weights to zero after"),
        ("p[t,s] = softmax[s <= t](z[t,s])", "p[t,s] = softmax[s]([s <= t] z[t,s])", "mask", "still count as `exp(0)`"),
        ("y[t,i] = g[i] x[t,i]/s[t] + b[i]", "y[t,i] = g[i] (x[t,i]/s[t] + b[i])", "extra factor", "`b[i]` by `g[i]` too"),
        ("y[t,i] = x[t,i]/s[t] + b[i]", "y[t,i] = (x[t,i] + b[i])/s[t]", "extra factor", "divided `b[i]` by `s[t]` too"),
        ("d[t] = (a[t] + b[t]) c[t]", "d[t] = a[t] c[t] + b[t]", "brackets", "multiplied `a[t]` alone by `c[t]`"),
        ("l = -sum[b,t](z[b,t])/(B T)", "l = -sum[b,t](z[b,t])/T", "scale", "by `1/T`; it must be `1/(B T)`"),
        ("l = -sum[t](log(p[t]^2))/T", "l = -log(sum[t](p[t]^2)/T)", "sum scope", "you took `log` of the mean"),
        ("e[t,s] = tanh(a[t] + b[s])", "e[t,s] = tanh(a[t]) + tanh(b[s])", "function scope", "`tanh` of each term"),
        ("e[t,s] = tanh(a[t] + b[s] - c[t])", "e[t,s] = tanh(a[t]) + tanh(b[s] - c[t])", "function scope", "`tanh` of each term"),
        ("pad x\ny[t] = sum[d](W[d] x[t+d-1])", "pad x\ny[t] = sum[d](W[d] x[t-d+1])", "flipped window", "`x[t-d+1]`"),
        ("S[h,t] = q[h,t,D]/sqrt(D)", "S[h,t] = q[h,t,D]/sqrt(D H)", "scale", "it must be `1/sqrt(D)`"),
        ("y[t,i] = g[i] x[t,i]", "y[t,i] = x[t,i]/g[i]", "operation", "divided by `g[i]`"),
        ("y[t,i] = x[t,i]/g[i]", "y[t,i] = x[t,i] g[i]", "operation", "must divide by it"),
        ("y[t] = W[J] tanh(u[t,J]) w[t,J]", "y[t] = W[J] (tanh(u[t,J]) + w[t,J])", "operation", "must be multiplied"),
        ("d[t,w] = p[t,w] - [w == y[t]]", "d[t,w] = p[t,w] - 1", "mask", "1 only where `w == y[t]`"),
        ("d[j] = max[i](A[i,j] + x[i])", "d[j] = sum[i](A[i,j] + x[i])", "hard choice", "You took the sum over `i`"),
        ("d[j] = logsumexp[i](A[i,j])", "d[j] = log(sum[i](A[i,j]))", "hard choice", "log of the sum over `i`"),
        ("v[t] = m v[t-1] + g[t]", "v[t] = m v[t-1] + (1 - m) g[t]", "extra factor", "`g[t]` by `1 - m` too"),
        ("P = exp(sum[t](z[t])/T)", "P = 2^(sum[t](z[t])/T)", "activation", "its base must be e"),
        ("l = -sum[t](log(p[t]))", "l = -sum[t](log_2(p[t]))", "activation", "its base must be e"),
        ("l[i] = s[i,i]/sum[j](s[i,j])", "l[i] = s[i,i]/sum[j != i](s[i,j])", "mask", "left out `j == i`"),
        ("v[t,i] = 0.9 v[t-1,i] + g[t,i]^2\nw[t,i] = g[t,i]/sqrt(v[t,i])", "v[t,i] = 0.9 v[t-1,i] + g[t,i]\nw[t,i] = g[t,i]/sqrt(v[t,i])", "missing factor", "power is missing"),
    ],
)  # fmt: skip
def test_slips_of_structure_are_named(reference, answer, kind, words):
    """Each was told nothing but that the tensor differs."""
    found = compare(system(reference), system(answer))
    assert (found.equal, found.kind) == (False, kind), found.message
    assert words in found.message


@pytest.mark.usefixtures("engine")
def test_words_of_another_kind_are_told_before_anything_runs():
    """Each engine said in its own words where the first such word was read outside its table."""
    reference = "r[n] = u[c[n],D] v[m[n],D]"
    found = compare(system(reference), system("r[n] = u[c[n],D] u[m[n],D] + 0 v[0,0]"))
    assert (found.kind, found.tensor) == ("size", "m"), found.message


def test_a_tensor_that_is_only_longer_is_not_blamed():
    """Both windows of the answer are F's: y is longer by that, and right; g is wrong."""
    reference = "y[t] = F[D] x[t+D]\ng[t] = tanh(G[E] x[t+E])\nz[t] = y[t] g[t]"
    found = compare(system(reference), system(reference.replace("G[E] x[t+E]", "F[E] x[t+E]")))
    assert (found.equal, found.tensor) == (False, "g"), found.message


def test_a_tensor_of_another_size_is_blamed_where_it_is_used():
    reference = "K[t,d] = X[t,I] U[I,d]\nV[t,e] = X[t,I] W[I,e]\nZ[t,e] = A[t,S] V[S,e]\nY[t,i] = Z[t,E] O[E,i] + K[t,D] P[D,i]"
    found = compare(system(reference), system(reference.replace("V[S,e]", "K[S,e]")))
    assert (found.kind, found.tensor) == ("wrong tensor", "Z"), found.message
    assert "You used `K[S,e]` in `Z` where `V[S,e]` belongs." in found.message


HMM = """
b[t,i] = sum[j](A[i,j] O[j,w[t+1]] b[t+1,j])
"""


def test_a_word_that_is_read_after_the_last_is_a_word():
    known = Equations(HMM)
    assert known.compare(HMM.replace("A[i,j]", "A[j,i]")).kind == "transpose"
    assert known.compare("b[t,k] = A[k,J] O[J,w[t+1]] b[t+1,J]").equal
