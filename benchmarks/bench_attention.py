"""Local attention against full attention, and the 2-D RNN by anti-diagonals against its double loop.

Memory is the peak of all live tensors, counted at each operation on tensors of the `meta` device: exact,
forward and backward, and it costs no memory itself. Full attention is the plain matrix product of the
course (`attend`); torch's fused `scaled_dot_product_attention` stands beside it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from coursekit.models.grid import GridRNN, grid_loop, grid_states
from coursekit.models.local_attention import local_attention
from coursekit.models.patterns import attend

from .measure import Row, ms, ratio, take_turns

WIDTH, HEAD = 64, 64
LENGTHS = (1024, 2048, 4096, 8192, 16384)


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


WAYS = ("forward", "forward and backward")


def _ready(function: Callable, way: str, *tensors: torch.Tensor) -> Callable[[], object]:
    if way == "forward":
        still = [x.detach() for x in tensors]
        return lambda: function(*still)
    return with_backward(function, *tensors)


def window_rows(T: int = 4096, heads: int = 2, rounds: int = 9) -> list[Row]:
    """Time of full attention over time of windowed attention."""
    QKV = [torch.randn(1, heads, T, HEAD, requires_grad=True) for _ in range(3)]
    rivals = {"full": full, "fused": F.scaled_dot_product_attention, "window": window}
    found = []
    for way in WAYS:
        times = take_turns({name: _ready(f, way, *QKV) for name, f in rivals.items()}, rounds)
        for other, target in (("full", 8.0), ("fused", None)):
            what = f"{other} / windowed attention, T={T}, w={WIDTH}, {way}"
            value = ratio(times[other], times["window"])
            found.append(Row(what, ms(times["window"]), ms(times[other]), value, target, at_most=False))
    return found


def curve_rows() -> list[Row]:
    """Both curves to T=16384: forward time, and peak memory of forward and backward."""
    found = []
    for T in LENGTHS:
        QKV = [torch.randn(1, 1, T, HEAD) for _ in range(3)]
        times = take_turns(
            {"full": lambda x=QKV: full(*x), "window": lambda x=QKV: window(*x)}, 3 if T <= 4096 else 1
        )
        value = ratio(times["full"], times["window"])
        what = f"full / windowed attention, one head, T={T}, forward"
        found.append(Row(what, ms(times["window"]), ms(times["full"]), value, at_most=False))
        held = {name: peak_bytes(f, T) for name, f in (("full", full), ("window", window))}
        ours, theirs = (f"{held[n] / 2**20:.1f} MiB" for n in ("window", "full"))
        what = f"peak memory a position of windowed attention, T={T}"
        found.append(Row(what, ours, theirs, held["window"] / T, unit="bytes"))
    return found


def grid_rows(n: int = 28, channels: int = 3, hidden: int = 32, rounds: int = 9) -> list[Row]:
    """Time of the double loop over time of the anti-diagonals."""
    model, x = GridRNN(channels, hidden), torch.randn(1, n, n, channels)
    W = tuple(p.detach().requires_grad_() for p in model.parameters())
    found = []
    for way in WAYS:
        rivals = {"loop": grid_loop, "diagonals": grid_states}
        times = take_turns(
            {name: _ready(lambda *w, f=f: f(x, *w), way, *W) for name, f in rivals.items()}, rounds
        )
        what = f"double loop / anti-diagonals, n={n}, {way}"
        value = ratio(times["loop"], times["diagonals"])
        found.append(Row(what, ms(times["diagonals"]), ms(times["loop"]), value, 5.0, at_most=False))
    return found


def rows() -> list[Row]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return [*window_rows(), *grid_rows(), *curve_rows()]
