"""A training run on disk: all that is needed to go on as if nothing had happened."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..files import replacing


class BadCheckpoint(ValueError):
    """The file is no checkpoint, or that of another run; the message says what to do."""


def save(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    device: torch.device,
    settings: dict[str, Any],
    history: dict[str, Any],
) -> None:
    """Write everything beside the old file, then put it in its place: there is never half a checkpoint."""
    state = {
        "settings": settings,
        "history": history,
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "random": {name: get() for name, (get, _) in _generators(device).items()},
    }
    with replacing(path) as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def load(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    device: torch.device,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Put back weights, optimiser and random state; return the history. Refuse the file of another run."""
    again = "give another path, or resume=False to begin anew"
    try:
        state = torch.load(path, map_location=device, weights_only=True)
        history: dict[str, Any] = state["history"]
        theirs, random = state["settings"], state["random"]
    except Exception as error:
        raise BadCheckpoint(f"{path} is not a checkpoint of this trainer, or is damaged; {again}") from error
    for name, mine in settings.items():
        if theirs.get(name) != mine:
            raise BadCheckpoint(
                f"{path} is of a run with {name}={theirs.get(name)}, and this one has {mine}; {again}"
            )
    own = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if {name: tuple(tensor.shape) for name, tensor in state["model"].items()} != own:
        raise BadCheckpoint(f"{path} is of a model with other parameters; {again}")
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    home = torch.get_rng_state().device  # generators keep their state in ordinary memory
    for name, (_, put) in _generators(device).items():
        if name in random:
            put(random[name].to(home))
    return history


def _generators(device: torch.device) -> dict[str, tuple[Callable[[], Tensor], Callable[[Tensor], object]]]:
    """How the state of torch's own generator is read and put back, and that of the device where it has one."""
    own: Any = getattr(torch, device.type, None)
    both = {"torch": (torch.get_rng_state, torch.set_rng_state)}
    return both | (
        {"device": (own.get_rng_state, own.set_rng_state)} if hasattr(own, "get_rng_state") else {}
    )
