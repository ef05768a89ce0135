"""The weights of torch's recurrent modules, read as those of the course's cells.

torch stacks the gates' matrices in one tensor, adds two biases where the course subtracts one, and
its GRU gate z multiplies the old state: z = 1 − G2 = σ(−a) where G2 = σ(a), so its weights change sign.
"""

from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from . import cells
from .guards import BadInput

C = TypeVar("C", bound=cells.Cell)

# For each cell: torch's module, and the parts in the order in which torch stacks them.
_ORDER: dict[type, tuple[type, tuple[str, ...]]] = {
    cells.Vanilla: (nn.RNN, ("h",)),
    cells.GRU: (nn.GRU, ("G1", "G2", "R")),
    cells.TorchGRU: (nn.GRU, ("G1", "G2", "R")),
    cells.LSTM: (nn.LSTM, ("Gi", "Gf", "R", "Go")),
}


def load(cls: type[C], module: nn.RNNBase, options: dict[str, Any]) -> C:
    """A cell of class `cls` that computes what `module` (one layer, one direction) computes."""
    if cls not in _ORDER:
        raise BadInput(f"torch has no module for the cell {cls.__name__}")
    kind, order = _ORDER[cls]
    if not isinstance(module, kind):
        raise BadInput(f"{cls.__name__} needs a torch.nn.{kind.__name__}, not a {type(module).__name__}")
    if module.num_layers != 1 or module.bidirectional or module.proj_size:
        raise BadInput(f"{cls.__name__} needs one layer, one direction and no projection")
    if cls is cells.Vanilla:
        if getattr(module, "nonlinearity", None) == "relu":
            raise BadInput('Vanilla needs nonlinearity="tanh", not "relu"')
        options = {"activation": "tanh", **options}

    given = dict(module.named_parameters())
    W_h, W_x = given["weight_hh_l0"], given["weight_ih_l0"]
    zero = W_h.new_zeros(len(W_h))
    stacks = (W_h, W_x, given.get("bias_hh_l0", zero), given.get("bias_ih_l0", zero))
    cell = cls(module.input_size, module.hidden_size, device=W_h.device, dtype=W_h.dtype, **options)
    with torch.no_grad():
        for part, W_h, W_x, bh, bx in zip(order, *(s.chunk(len(order)) for s in stacks), strict=True):
            sign = -1 if part == "G2" else 1
            getattr(cell, f"W_h{part}").copy_(sign * W_h)
            getattr(cell, f"W_x{part}").copy_(sign * W_x)
            inside = cls in (cells.GRU, cells.TorchGRU) and part == "R"  # b_h stands inside the reset
            getattr(cell, f"B_{part}").copy_(-sign * (bx if inside else bx + bh))
            if inside:
                _reset_bias(cell, W_h, bh)
    return cell


def _reset_bias(cell: cells.Cell, W_h: Tensor, b_h: Tensor) -> None:
    if isinstance(cell, cells.TorchGRU):
        cell.B_hR.copy_(-b_h)
    elif bool((W_h != torch.diag(W_h.diagonal())).any()) or bool(b_h.any()):
        raise BadInput(
            "torch's GRU resets after the product and the course's before it; they agree only where W_hR is "
            "diagonal and its own bias is zero: use TorchGRU for these weights"
        )
