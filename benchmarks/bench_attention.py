"""Local attention against full attention, and the 2-D RNN by anti-diagonals against its double loop.

    python benchmarks/bench_attention.py            about two minutes on one core
    python benchmarks/bench_attention.py --quick    the ratios alone

Times are the best of several rounds in which the rivals take turns, so that a busy machine slows both.
Memory is the peak of all live tensors, counted at each operation on tensors of the `meta` device: exact,
forward and backward, and it costs no memory itself. Full attention is the plain matrix product of the
course (`attend`); torch's fused `scaled_dot_product_attention` stands beside it.
"""

from __future__ import annotations

import argparse
import time
import weakref
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from coursekit.models.grid import GridRNN, grid_loop, grid_states
from coursekit.models.local_attention import local_attention
from coursekit.models.patterns import attend

WIDTH, HEAD = 64, 64
TARGETS = {"window": 8.0, "grid": 5.0}


def take_turns(rivals: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The best time in seconds of each rival, one call of each a round."""
    best = dict.fromkeys(rivals, float("inf"))
    for run in rivals.values():
        run()
    for _ in range(rounds):
        for name, run in rivals.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def with_backward(function: Callable, *tensors: torch.Tensor) -> Callable[[], object]:
    return lambda: torch.autograd.grad(function(*tensors).sum(), tensors)


class PeakMemory(TorchDispatchMode):
    """The most bytes that were alive at once, among the storages made inside."""

    def __init__(self):
        super().__init__()
        self.live = self.peak = 0
        self.known: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self._count(leaf.untyped_storage())
        return result

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key in self.known:
            return
        size = storage.nbytes()
        self.known.add(key)
        self.live += size
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self._release, key, size)

    def _release(self, key: int, size: int) -> None:
        self.known.discard(key)
        self.live -= size


def peak_bytes(function: Callable, T: int, device: str = "meta") -> int:
    """Forward and backward of one head over T positions."""
    QKV = [torch.empty(1, 1, T, HEAD, device=device, requires_grad=True) for _ in range(3)]
    with PeakMemory() as memory:
        with_backward(function, *QKV)()
    return memory.peak


def full(Q, K, V):
    return attend(Q, K, V)[0]


def window(Q, K, V):
    return local_attention("window", Q, K, V, WIDTH)


def block(Q, K, V):
    return local_attention("block", Q, K, V, WIDTH)


def window_ratios(T: int = 4096, heads: int = 2, rounds: int = 9) -> dict[str, float]:
    """Time of full attention over time of windowed attention."""
    QKV = [torch.randn(1, heads, T, HEAD, requires_grad=True) for _ in range(3)]
    functions = {"full": full, "fused": F.scaled_dot_product_attention, "window": window, "block": block}
    ratios = {}
    print(f"\nT={T}, w={WIDTH}, {heads} heads of {HEAD}, float32   (milliseconds; x = times the window)")
    for way, prepare in (
        ("forward", lambda f: lambda: f(*(x.detach() for x in QKV))),
        ("forward and backward", lambda f: with_backward(f, *QKV)),
    ):
        best = take_turns({name: prepare(f) for name, f in functions.items()}, rounds)
        row = "   ".join(f"{name} {1e3 * t:.1f} ({t / best['window']:.1f}x)" for name, t in best.items())
        print(f"  {way:21s} {row}")
        ratios[way] = best["full"] / best["window"]
        ratios[f"{way}, fused"] = best["fused"] / best["window"]
    return ratios


def curves(lengths=(1024, 2048, 4096, 8192, 16384)) -> None:
    print(f"\none head of {HEAD}, w={WIDTH}: forward time; peak memory of forward and backward")
    print(
        f"  {'T':>6s} {'full ms':>9s} {'window ms':>10s} {'full MiB':>9s} {'window MiB':>11s} {'bytes/T':>8s}"
    )
    for T in lengths:
        QKV = [torch.randn(1, 1, T, HEAD) for _ in range(3)]
        rivals = {"full": lambda x=QKV: full(*x), "window": lambda x=QKV: window(*x)}
        best = take_turns(rivals, rounds=3 if T <= 4096 else 1)
        memory = {name: peak_bytes(f, T) for name, f in (("full", full), ("window", window))}
        print(
            f"  {T:6d} {1e3 * best['full']:9.1f} {1e3 * best['window']:10.1f} "
            f"{memory['full'] / 2**20:9.1f} {memory['window'] / 2**20:11.1f} {memory['window'] / T:8.0f}"
        )


def grid_ratios(n: int = 28, channels: int = 3, hidden: int = 32, rounds: int = 9) -> dict[str, float]:
    """Time of the double loop over time of the anti-diagonals."""
    model, x = GridRNN(channels, hidden), torch.randn(1, n, n, channels)
    W = tuple(p.detach().requires_grad_() for p in model.parameters())
    ratios = {}
    print(f"\nthe 2-D RNN, n={n}, {channels} channels, {hidden} hidden, batch 1   (milliseconds)")
    for way, prepare in (
        ("forward", lambda f: lambda: f(x, *(w.detach() for w in W))),
        ("forward and backward", lambda f: with_backward(lambda *w: f(x, *w), *W)),
    ):
        best = take_turns({"loop": prepare(grid_loop), "diagonals": prepare(grid_states)}, rounds)
        ratios[way] = best["loop"] / best["diagonals"]
        print(
            f"  {way:21s} double loop {1e3 * best['loop']:.1f}   anti-diagonals {1e3 * best['diagonals']:.2f}"
            f"   {ratios[way]:.1f}x"
        )
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the ratios alone, without the curves")
    quick = parser.parse_args().quick
    torch.manual_seed(0)
    measured = {"window": window_ratios(), "grid": grid_ratios()}
    if not quick:
        curves()
    print()
    for name, target in TARGETS.items():
        worst = min(ratio for way, ratio in measured[name].items() if "fused" not in way)
        print(f"{name}: at least {target:g} times wanted, {worst:.1f} measured")


if __name__ == "__main__":
    main()
