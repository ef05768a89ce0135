"""A training run on disk: all that is needed to go on as if nothing had happened."""

from __future__ import annotations

import os
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
        "random": _random_states(device),
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
    _set_random_states(random, device)
    return history


def _random_states(device: torch.device) -> dict[str, Tensor]:
    """torch's own generator, and that of the device where it has one."""
    states = {"torch": torch.get_rng_state()}
    own = getattr(getattr(torch, device.type, None), "get_rng_state", None)
    return states if own is None else {**states, "device": own()}


def _set_random_states(states: dict[str, Tensor], device: torch.device) -> None:
    home = torch.get_rng_state().device  # generators keep their state in ordinary memory
    torch.set_rng_state(states["torch"].to(home))
    own = getattr(getattr(torch, device.type, None), "set_rng_state", None)
    if own is not None and "device" in states:
        own(states["device"].to(home))
