"""The single-step gradients of the RNN language model (problem 1.2) as a question, with planted errors."""

from types import SimpleNamespace

import pytest
import torch


def case(V=11, d=4, D=5, seed=0, x=3, target=7):
    generator = torch.Generator().manual_seed(seed)

    def r(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return {
        "x": x, "target": target, "h_prev": torch.sigmoid(r(D)), "L": r(V, d), "H": r(D, D), "I": r(d, D),
        "b1": r(D), "U": r(D, V), "b2": r(V),
    }  # fmt: skip


def loss(x, target, h_prev, L, H, I, b1, U, b2):
    h = torch.sigmoid(h_prev @ H + L[x] @ I + b1)
    return -torch.log_softmax(h @ U + b2, -1)[target]


def student(spoil=lambda g, v: None):
    """The right gradients, then `spoil(gradients, intermediate values)`; what it returns stands instead."""

    def grads_t(x, target, h_prev, L, H, I, b1, U, b2):
        e = L[x]
        h = torch.sigmoid(h_prev @ H + e @ I + b1)
        y_hat = torch.softmax(h @ U + b2, -1)
        y = torch.zeros_like(y_hat)
        y[target] = 1
        d1 = y_hat - y
        gh = d1 @ U.T
        d2 = gh * h * (1 - h)
        g = {
            "U": torch.outer(h, d1),
            "b2": d1,
            "Lx": d2 @ I.T,
            "I": torch.outer(e, d2),
            "H": torch.outer(h_prev, d2),
            "b1": d2,
        }
        v = SimpleNamespace(e=e, h=h, h_prev=h_prev, y=y, y_hat=y_hat, d1=d1, gh=gh, d2=d2, H=H, I=I, U=U)
        spoilt = spoil(g, v)
        return g if spoilt is None else spoilt

    return grads_t


def bptt(stop=1, usesp=True, HT=True, hshift=0, eshift=0):
    """Back-propagation through time, or a wrong variant of it (the options of the mistakes' bank)."""

    def grads(xs, target, h0, L, H, I, b1, U, b2):
        T, h = len(xs), [h0]
        for x in xs:
            h.append(torch.sigmoid(h[-1] @ H + L[x] @ I + b1))
        d1 = torch.softmax(h[-1] @ U + b2, -1)
        d1[target] -= 1
        a = d1 @ U.T * h[T] * (1 - h[T])
        g = {
            "H": torch.zeros_like(H),
            "I": torch.zeros_like(I),
            "b1": torch.zeros_like(b1),
            "L": torch.zeros_like(L),
        }
        for s in range(T, stop - 1, -1):
            g["H"] += torch.outer(h[s - 1 + hshift], a)
            g["I"] += torch.outer(L[xs[max(0, s - 1 + eshift)]], a)
            g["b1"] += a
            g["L"][xs[s - 1]] += a @ I.T
            a = (a @ (H.T if HT else H)) * (h[s - 1] * (1 - h[s - 1]) if usesp else 1)
        return g

    return grads


def sequence_loss(xs, target, h0, L, H, I, b1, U, b2):
    h = h0
    for x in xs:
        h = torch.sigmoid(h @ H + L[x] @ I + b1)
    return -torch.log_softmax(h @ U + b2, -1)[target]


def sequence_case(xs, **sizes):
    c = case(**sizes)
    return dict(
        xs=xs, target=c["target"], h0=c["h_prev"], **{k: c[k] for k in ("L", "H", "I", "b1", "U", "b2")}
    )


@pytest.fixture
def rnn():
    return SimpleNamespace(
        loss=loss, student=student, case=case,
        cases=[case(), case(V=13, d=3, D=6, seed=1)],
        wrt={"U": "U", "b2": "b2", "Lx": "L[x]", "I": "I", "H": "H", "b1": "b1"},
        bptt=bptt, sequence_loss=sequence_loss,
        sequences=[sequence_case([3, 7, 2, 2]), sequence_case([1, 5, 8, 4], V=13, d=3, D=6, seed=1)],
    )  # fmt: skip
