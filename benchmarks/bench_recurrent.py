"""The course's cells against torch.nn, and back-propagation through time by hand against autograd.

    python benchmarks/bench_recurrent.py                   one thread, then two
    python benchmarks/bench_recurrent.py --threads 1 --rounds 50

Forward and backward of one layer: T=64, batch 32, 256 inputs, 256 units, float32, and the gradient of
the inputs too. In each round every rival runs once, so that a busy machine slows all of them; a ratio is
the median over the rounds of (ours / theirs), both of the same round. "plain" is the readable loop of the
same cell (`fast=False`), for which there is no target.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import nn

from coursekit.models import bptt, rnn_lm
from coursekit.models.cells import GRU, LSTM, UGRNN, Vanilla

T, BATCH, UNITS = 64, 32, 256
V, D_EMBEDDING, D_HIDDEN = 2000, 50, 100

# ours, theirs, at most this many times their time
TARGETS = [
    ("vanilla", "nn.RNN", 1.05),
    ("GRU", "nn.GRU", 1.05),
    ("LSTM", "nn.LSTM", 1.25),
    ("UGRNN", "GRU", 1.00),
    ("UGRNN", "nn.GRU", 1.00),
    ("bptt by hand", "bptt by autograd", 1.30),
]
PLAIN = [("vanilla plain", "nn.RNN"), ("GRU plain", "nn.GRU"), ("LSTM plain", "nn.LSTM")]


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

    return {name: both_ways(module) for name, module in modules.items()}


def language_models() -> dict[str, Callable[[], object]]:
    params = rnn_lm.Params.random(V, D_EMBEDDING, D_HIDDEN)
    params = rnn_lm.Params(*(p * 0.1 for p in params))
    x, y = torch.randint(V, (2, BATCH, T))
    h0 = torch.zeros(BATCH, D_HIDDEN)
    learned = rnn_lm.Params(*(p.clone().requires_grad_() for p in params))

    def autograd():
        return torch.autograd.grad(rnn_lm.losses(x, y, learned, h0).sum(), learned)

    return {"bptt by autograd": autograd, "bptt by hand": lambda: bptt.bptt(x, y, params, h0)}


def take_turns(rivals: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every rival in every round; the first round warms up and is not counted."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for n in range(rounds + 1):
        for name, run in rivals.items():
            start = time.perf_counter()
            run()
            if n:
                times[name].append(1e3 * (time.perf_counter() - start))
    return times


def report(times: dict[str, list[float]]) -> None:
    for name, values in times.items():
        print(f"  {name:18} median {median(values):8.2f} ms   best {min(values):8.2f} ms")
    print()
    for ours, theirs, target in [*TARGETS, *((a, b, None) for a, b in PLAIN)]:
        pairs = zip(times[ours], times[theirs], strict=True)
        ratio = median(a / b for a, b in pairs)
        verdict = "" if target is None else f"target {target:.2f}  {'met' if ratio <= target else 'MISSED'}"
        print(f"  {ours:14} / {theirs:18} {ratio:5.2f}   {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    for threads in options.threads:
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        print(
            f"\n{threads} thread{'s' if threads > 1 else ''}, {options.rounds} rounds, torch {torch.__version__}"
        )
        report(take_turns(layers() | language_models(), options.rounds))


if __name__ == "__main__":
    main()
