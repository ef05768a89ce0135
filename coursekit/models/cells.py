"""The recurrent cells of the course: vanilla, UGRNN, GRU (and torch's variant of it), LSTM.

Every cell has the same face, whatever its state is made of:

    cell = GRU(inputs=K, hidden=J)
    h, state = cell.step(x, state)        # x (B, K), h (B, J): one step, as the equations say it
    h, state = cell(x, state)             # x (B, T, K), h (B, T, J): all steps; state may be None

>>> h, state = GRU(inputs=3, hidden=4)(torch.zeros(2, 5, 3))
>>> h.shape, state.shape
(torch.Size([2, 5, 4]), torch.Size([2, 4]))

The state is h itself; that of the LSTM is the pair (h, c). The bias has the course's sign, −B.
`forward` takes the fast path (`fast_cells`: one product for all inputs, a backward by hand), which
has no second derivative; a cell made with `fast=False` runs its own `step` in a plain loop.
"""

from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn, sigmoid, tanh
from torch.autograd import Function
from torch.types import Device

from . import fast_cells
from .guards import BadInput, need, need_finite, need_like, need_one_of, need_shape

State = Any  # h (B, J), or for the LSTM (h, c)


class Cell(nn.Module):
    """For each of its `parts` P a cell has W_hP (J, J), W_xP (J, K) and B_P (J,)."""

    equations: str
    parts: tuple[str, ...]
    keeps = "h"  # what its state is made of
    all_at_once: type[Function] | None = None  # the fast path

    def __init__(
        self, inputs: int, hidden: int, *, fast: bool = True, device: Device = None, dtype: torch.dtype | None = None
    ):  # fmt: skip
        super().__init__()
        self.inputs, self.hidden, self.fast = inputs, hidden, fast
        shapes = {"W_h{}": (hidden, hidden), "W_x{}": (hidden, inputs), "B_{}": (hidden,)}
        for part in self.parts:
            for name, shape in shapes.items():
                self._parameter(name.format(part), torch.empty(shape, device=device, dtype=dtype))

    def _parameter(self, name: str, tensor: Tensor) -> None:
        width = self.hidden**-0.5
        self.register_parameter(name, nn.Parameter(tensor.uniform_(-width, width)))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Tensor: ...

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One step of the equations: x (B, K) and the state before -> h (B, J) and the state after."""
        raise NotImplementedError

    def initial(self, x: Tensor) -> State:
        """The zero state for a batch x (B, ...)."""
        zero = x.new_zeros(len(x), self.hidden)
        return zero if self.keeps == "h" else (zero, zero)

    def forward(self, x: Tensor, state: State = None) -> tuple[Tensor, State]:
        batch, T = need_shape("x", x, "B T K", K=self.inputs)
        need_like("x", x, "the cell", getattr(self, f"W_h{self.parts[0]}"))
        need_finite("x", x)
        state = self.initial(x) if state is None else state
        given = self._checked(state, x, batch)
        if self.fast and self.all_at_once is not None:
            h, *rest = self.all_at_once.apply(x.transpose(0, 1).contiguous(), *given, *self._weights())
            return h.transpose(0, 1), (h[-1], *rest) if rest else h[-1]
        h = []
        for t in range(T):
            h_t, state = self.step(x[:, t], state)
            h.append(h_t)
        return torch.stack(h, dim=1), state

    def _checked(self, state: State, x: Tensor, batch: int) -> tuple[Tensor, ...]:
        """The parts of a state, if they fit."""
        parts = (state,) if self.keeps == "h" else state
        pair = isinstance(parts, tuple) and len(parts) == len(self.keeps)
        need(pair, "the state of an LSTM needs to be a pair (h, c) of (B, J) tensors")
        for name, part in zip(self.keeps, parts, strict=True):
            need_shape(f"the state {name}", part, "B J", B=batch, J=self.hidden)
            need_like(f"the state {name}", part, "x", x)
        return parts

    def _weights(self) -> tuple[Any, ...]:
        """What the fast path takes: the weights of all parts, one above the other, so that one product serves them."""
        return self._stack("W_h"), self._stack("W_x"), self._stack("B_")

    def _stack(self, name: str) -> Tensor:
        return torch.cat([getattr(self, name + part) for part in self.parts])

    @classmethod
    def from_torch(cls, module: nn.RNNBase, **options: Any) -> Self:
        """A cell that computes what torch's module (one layer, one direction) computes.

        torch stacks the gates' matrices in one tensor, adds two biases where the course subtracts one, and its GRU
        gate z multiplies the old state: z = 1 − G2 = σ(−a) where G2 = σ(a), so its weights change sign.
        """
        kind, order = _THEIRS[cls]
        fits = isinstance(module, kind) and getattr(module, "nonlinearity", "tanh") == "tanh"
        plain = module.num_layers == 1 and not module.bidirectional and not module.proj_size
        need(
            fits and plain,
            f"{cls.__name__} is a torch.nn.{kind.__name__} of one layer in one direction, with tanh",
        )
        if cls is Vanilla:
            options = {"activation": "tanh", **options}
        given = dict(module.named_parameters())
        W_h, W_x = given["weight_hh_l0"], given["weight_ih_l0"]
        zero = W_h.new_zeros(len(W_h))
        stacks = (W_h, W_x, given.get("bias_hh_l0", zero), given.get("bias_ih_l0", zero))
        cell = cls(module.input_size, module.hidden_size, device=W_h.device, dtype=W_h.dtype, **options)
        theirs = {}
        for part, W_h, W_x, b_h, b_x in zip(order, *(s.chunk(len(order)) for s in stacks), strict=True):
            sign = -1 if part == "G2" else 1
            inside = issubclass(cls, GRU) and part == "R"  # b_h stands inside the reset
            theirs[f"W_h{part}"], theirs[f"W_x{part}"] = sign * W_h, sign * W_x
            theirs[f"B_{part}"] = -sign * (b_x if inside else b_x + b_h)
            if inside and cls is TorchGRU:
                theirs["B_hR"] = -b_h
            elif inside and (bool((W_h != torch.diag(W_h.diagonal())).any()) or bool(b_h.any())):
                raise BadInput(
                    "torch's GRU resets after the product and the course's before it; they agree only where "
                    "W_hR is diagonal and its own bias is zero: use TorchGRU for these weights"
                )
        cell.load_state_dict(theirs)
        return cell


class Vanilla(Cell):
    """The vanilla RNN. `activation` is "sigmoid", as the course writes it, or "tanh"."""

    equations = "h[b,t,j] = sigmoid(W_hh[j,I] h[b,t-1,I] + W_xh[j,K] x[b,t,K] - B_h[j])"
    parts = ("h",)
    all_at_once = fast_cells.Vanilla

    def __init__(self, inputs: int, hidden: int, activation: str = "sigmoid", **options: Any):
        need_one_of("activation", activation, ("sigmoid", "tanh"))
        super().__init__(inputs, hidden, **options)
        self.activation = sigmoid if activation == "sigmoid" else tanh
        self.equations = Vanilla.equations.replace("sigmoid", activation)

    def step(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        h = self.activation(h @ self.W_hh.T + x @ self.W_xh.T - self.B_h)
        return h, h

    def _weights(self) -> tuple[Any, ...]:
        return self.W_hh, self.W_xh, self.B_h, self.activation


class UGRNN(Cell):
    """The update-gate RNN: its gate multiplies the old state."""

    equations = """
        G[b,t,j] = sigmoid(W_hG[j,I] h[b,t-1,I] + W_xG[j,K] x[b,t,K] - B_G[j])
        R[b,t,j] = tanh(W_hR[j,I] h[b,t-1,I] + W_xR[j,K] x[b,t,K] - B_R[j])
        h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R[b,t,j]
    """
    parts = ("G", "R")
    all_at_once = fast_cells.UGRNN

    def step(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        G = sigmoid(h @ self.W_hG.T + x @ self.W_xG.T - self.B_G)
        R = tanh(h @ self.W_hR.T + x @ self.W_xR.T - self.B_R)
        h = G * h + (1 - G) * R
        return h, h


class GRU(Cell):
    """The gated recurrent unit, reset before the product. Its gate G2 multiplies the new value."""

    equations = """
        G1[b,t,j] = sigmoid(W_hG1[j,I] h[b,t-1,I] + W_xG1[j,K] x[b,t,K] - B_G1[j])
        G2[b,t,j] = sigmoid(W_hG2[j,I] h[b,t-1,I] + W_xG2[j,K] x[b,t,K] - B_G2[j])
        m[b,t,j] = G1[b,t,j] h[b,t-1,j]
        R[b,t,j] = tanh(W_hR[j,I] m[b,t,I] + W_xR[j,K] x[b,t,K] - B_R[j])
        h[b,t,j] = (1 - G2[b,t,j]) h[b,t-1,j] + G2[b,t,j] R[b,t,j]
    """
    parts = ("G1", "G2", "R")
    all_at_once: type[Function] | None = fast_cells.GRU

    def step(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        G1 = sigmoid(h @ self.W_hG1.T + x @ self.W_xG1.T - self.B_G1)
        G2 = sigmoid(h @ self.W_hG2.T + x @ self.W_xG2.T - self.B_G2)
        R = tanh(self._reset(G1, h) + x @ self.W_xR.T - self.B_R)
        h = (1 - G2) * h + G2 * R
        return h, h

    def _reset(self, G1: Tensor, h: Tensor) -> Tensor:
        """What of the old state the candidate sees."""
        return (G1 * h) @ self.W_hR.T

    def _weights(self) -> tuple[Any, ...]:
        W_hG = torch.cat([self.W_hG1, self.W_hG2])
        return W_hG, self.W_hR, self._stack("W_x"), self._stack("B_")


class TorchGRU(GRU):
    """The GRU as torch has it: reset after the product, with a bias of its own inside the reset.

    The gate is the course's: G2 multiplies the new value (torch's z = 1 − G2 multiplies the old one).
    It is here for comparison and has the plain loop alone.
    """

    equations = GRU.equations.replace("G1[b,t,j] h[b,t-1,j]", "W_hR[j,I] h[b,t-1,I] - B_hR[j]").replace(
        "W_hR[j,I] m[b,t,I]", "G1[b,t,j] m[b,t,j]"
    )
    all_at_once = None

    def __init__(self, inputs: int, hidden: int, **options: Any):
        super().__init__(inputs, hidden, **options)
        self._parameter("B_hR", torch.empty_like(self.B_R))

    def _reset(self, G1: Tensor, h: Tensor) -> Tensor:
        return G1 * (h @ self.W_hR.T - self.B_hR)


class LSTM(Cell):
    """The long short-term memory: gates to forget (Gf), to take in (Gi) and to give out (Go)."""

    equations = """
        R[b,t,j] = tanh(W_hR[j,I] h[b,t-1,I] + W_xR[j,K] x[b,t,K] - B_R[j])
        Gf[b,t,j] = sigmoid(W_hGf[j,I] h[b,t-1,I] + W_xGf[j,K] x[b,t,K] - B_Gf[j])
        Gi[b,t,j] = sigmoid(W_hGi[j,I] h[b,t-1,I] + W_xGi[j,K] x[b,t,K] - B_Gi[j])
        Go[b,t,j] = sigmoid(W_hGo[j,I] h[b,t-1,I] + W_xGo[j,K] x[b,t,K] - B_Go[j])
        c[b,t,j] = Gf[b,t,j] c[b,t-1,j] + Gi[b,t,j] R[b,t,j]
        h[b,t,j] = Go[b,t,j] tanh(c[b,t,j])
    """
    parts = ("R", "Gf", "Gi", "Go")
    keeps = "hc"
    all_at_once = fast_cells.LSTM

    def step(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = state
        R = tanh(h @ self.W_hR.T + x @ self.W_xR.T - self.B_R)
        Gf = sigmoid(h @ self.W_hGf.T + x @ self.W_xGf.T - self.B_Gf)
        Gi = sigmoid(h @ self.W_hGi.T + x @ self.W_xGi.T - self.B_Gi)
        Go = sigmoid(h @ self.W_hGo.T + x @ self.W_xGo.T - self.B_Go)
        c = Gf * c + Gi * R
        h = Go * tanh(c)
        return h, (h, c)


# For each cell: torch's module, and the parts in the order in which torch stacks them.
_THEIRS: dict[type, tuple[type, tuple[str, ...]]] = {
    Vanilla: (nn.RNN, ("h",)),
    GRU: (nn.GRU, ("G1", "G2", "R")),
    TorchGRU: (nn.GRU, ("G1", "G2", "R")),
    LSTM: (nn.LSTM, ("Gi", "Gf", "R", "Go")),
}
