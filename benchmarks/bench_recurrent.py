"""The course's cells against torch.nn, and back-propagation through time by hand against autograd.

Forward and backward of one layer: T=64, batch 32, 256 inputs, 256 units, float32, and the gradient of
the inputs too, with one thread and with two. "plain" is the readable loop of the same cell (`fast=False`),
for which there is no target.

On a CPU `nn.LSTM` in float32 is one call of oneDNN's fused layer (`aten::mkldnn_rnn_layer`, and its backward), which
the other modules of torch have not. "nn.LSTM without oneDNN" is the same module in the same run, with torch's own
kernels: what the fused layer gains is the difference between its row and that of `nn.LSTM`.

Why the fused layer is so far ahead on some machines, the row "LSTM's products alone" shows: these are the matrix
products of one way forward and back, and nothing else, as every cell outside oneDNN has to take them, by torch's `mm`.
On an AMD EPYC they took 63 ms of processor time, of 73 for our whole LSTM and 32 for `nn.LSTM`: oneDNN multiplies with
AVX-512 there, and the library behind `mm` does not. Held to AVX2 (`ONEDNN_MAX_CPU_ISA=AVX2`), `nn.LSTM` took 58 ms, and
our LSTM 1.25 times that. Where that row is above 1, no cell that multiplies by `mm` can reach `nn.LSTM`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
from torch import nn
from torch.backends import mkldnn

from coursekit.models import bptt, rnn_lm
from coursekit.models.cells import GRU, LSTM, UGRNN, Vanilla

from .measure import Row, ms, ratio, take_turns

T, BATCH, UNITS = 64, 32, 256
V, D_EMBEDDING, D_HIDDEN = 2000, 50, 100

# ours, theirs, at most this many times their time
TARGETS = [
    ("vanilla", "nn.RNN", 1.05),
    ("GRU", "nn.GRU", 1.05),
    ("LSTM", "nn.LSTM", 1.25),
    ("LSTM", "nn.LSTM without oneDNN", 1.00),
    ("UGRNN", "GRU", 1.00),
    ("UGRNN", "nn.GRU", 1.00),
    ("bptt by hand", "bptt by autograd", 1.30),
]
PLAIN = [
    ("vanilla plain", "nn.RNN"),
    ("GRU plain", "nn.GRU"),
    ("LSTM plain", "nn.LSTM"),
    ("nn.LSTM without oneDNN", "nn.LSTM"),
    ("LSTM's products alone", "nn.LSTM"),
]


def layers() -> dict[str, Callable[[], object]]:
    x = torch.randn(BATCH, T, UNITS, requires_grad=True)
    outside = torch.randn(BATCH, T, UNITS)
    sizes = (UNITS, UNITS)
    modules: dict[str, nn.Module] = {
        "nn.RNN": nn.RNN(*sizes, batch_first=True),
        "vanilla": Vanilla(*sizes, "tanh"),
        "vanilla plain": Vanilla(*sizes, "tanh", fast=False),
        "nn.GRU": nn.GRU(*sizes, batch_first=True),
        "GRU": GRU(*sizes),
        "GRU plain": GRU(*sizes, fast=False),
        "UGRNN": UGRNN(*sizes),
        "nn.LSTM": nn.LSTM(*sizes, batch_first=True),
        "LSTM": LSTM(*sizes),
        "LSTM plain": LSTM(*sizes, fast=False),
    }

    def both_ways(module: nn.Module) -> Callable[[], object]:
        wanted = [x, *module.parameters()]
        return lambda: torch.autograd.grad(module(x)[0], wanted, outside)

    def without_onednn(task: Callable[[], object]) -> Callable[[], object]:
        def run() -> object:
            with mkldnn.flags(enabled=False):
                return task()

        return run

    tasks = {name: both_ways(module) for name, module in modules.items()}
    tasks["nn.LSTM without oneDNN"] = without_onednn(tasks["nn.LSTM"])
    return tasks | {"LSTM's products alone": products()}


def products() -> Callable[[], object]:
    """What an LSTM multiplies, forward and back: the states' part step by step, all else for all steps at once."""
    W = torch.randn(4 * UNITS, UNITS)
    WT = W.T.contiguous()
    x, dZ = torch.randn(T * BATCH, UNITS), torch.randn(T * BATCH, 4 * UNITS)
    h, dz = x[:BATCH], dZ[:BATCH]
    z, dh = torch.empty_like(dz), torch.empty_like(h)

    def run() -> object:
        x @ WT
        for _ in range(T):
            torch.addmm(dz, h, WT, out=z)
        for _ in range(T):
            torch.addmm(h, dz, W, out=dh)
        return dZ @ W, x.T @ dZ, x.T @ dZ

    return run


def language_models() -> dict[str, Callable[[], object]]:
    params = rnn_lm.Params.random(V, D_EMBEDDING, D_HIDDEN)
    params = rnn_lm.Params(*(p * 0.1 for p in params))
    x, y = torch.randint(V, (2, BATCH, T))
    h0 = torch.zeros(BATCH, D_HIDDEN)
    learned = rnn_lm.Params(*(p.clone().requires_grad_() for p in params))

    def autograd():
        return torch.autograd.grad(rnn_lm.losses(x, y, learned, h0).sum(), learned)

    return {"bptt by autograd": autograd, "bptt by hand": lambda: bptt.bptt(x, y, params, h0)}


def rows(rounds: int = 25) -> list[Row]:
    found = []
    for threads in sorted({1, min(2, os.cpu_count() or 1)}):
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        times = take_turns(layers() | language_models(), rounds)
        on = "1 thread" if threads == 1 else f"{threads} threads"
        for ours, theirs, target in [*TARGETS, *((a, b, None) for a, b in PLAIN)]:
            measured = ratio(times[ours], times[theirs])
            found.append(
                Row(f"{ours} / {theirs}, {on}", ms(times[ours]), ms(times[theirs]), measured, target)
            )
    return found
