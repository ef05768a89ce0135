"""One small trainer for every model of the course.

    history = train(model, grammar.batches(2000), steps=500, clip=1.0, limit=grammar.entropy_per_word)
    history.plot()

`data` is anything that has a batch for every step: a `coursekit.data.Batches`, a list of batches, or a
function from the step to a batch. A batch is a tuple of tensors, and the loss is `model.loss(*batch)`, or
what `loss(model, *batch)` gives. With a checkpoint, a run that was stopped goes on where it was and gives,
on the same machine, the very numbers of a run that was not: weights, optimiser and random state are kept,
and the data is a function of the step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from math import exp, isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from . import device as best_device
from .figures.bar import Bar
from .models.clipping import clip_each, clip_global

__all__ = ["History", "StoppedTraining", "evaluate", "train"]

OPTIMISERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
CLIPPING = {"global": clip_global, "each": clip_each}


class StoppedTraining(RuntimeError):
    """The run cannot go on; the message says why, and what to try."""


@dataclass
class History:
    """What was measured: `losses[n]` and `norms[n]` (of the whole gradient, before clipping) at step n."""

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    valid: list[tuple[int, float]] = field(default_factory=list)  # (steps done, loss on the validation data)
    limit: float | None = None  # the entropy a word: no model can do better

    @property
    def perplexity(self) -> float:
        """That of the last validation, or of the last step where there was none."""
        return exp(self.valid[-1][1] if self.valid else self.losses[-1])

    def plot(self, **options):
        """The loss by step, with the limit: see `coursekit.figures.loss_curve`."""
        from .figures import loss_curve

        return loss_curve(self, **options)

    def __repr__(self) -> str:
        if not self.losses:
            return "History of no steps"
        valid = f", validation {self.valid[-1][1]:.4f}" if self.valid else ""
        limit = f", limit {self.limit:.4f}" if self.limit is not None else ""
        return f"History of {len(self.losses)} steps: loss {self.losses[0]:.4f} → {self.losses[-1]:.4f}{valid}{limit}"


def train(
    model: nn.Module,
    data: Any,
    *,
    steps: int | None = None,
    epochs: int | None = None,
    loss: Callable[..., Tensor] | None = None,
    optimiser: str | Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = "adam",
    rate: float = 1e-2,
    clip: float | None = None,
    clipping: str = "global",
    seed: int = 0,
    valid: Iterable[tuple] | None = None,
    eval_every: int = 50,
    limit: float | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 100,
    resume: bool = True,
    device: torch.device | None = None,
    progress: bool = True,
) -> History:
    """Train `model` in place for `steps` (or `epochs` of the data) and return what was measured.

    `clip` is the largest norm of the gradient, of all tensors together or of "each". `valid` is a list or
    `Batches`, evaluated every `eval_every` steps and at the end. `seed` fixes what the model draws while it
    trains (dropout); the model's first weights were drawn before, where it was made. An interrupt leaves a
    checkpoint and returns the history so far.
    """
    steps = _steps(data, steps, epochs)
    if clipping not in CLIPPING:
        raise ValueError(f'clipping is {clipping!r}; it needs to be "global" or "each"')
    device = best_device() if device is None else device
    model.to(device).train()
    made = _optimiser(model, optimiser, rate)
    run = _Run(model, made, History(limit=limit), device, Path(checkpoint) if checkpoint else None)
    run.settings = {
        "seed": seed,
        "rate": rate,
        "optimiser": type(made).__name__,
        "clip": clip,
        "clipping": clipping,
    }
    torch.manual_seed(seed)
    if resume:
        run.resume()
    loss_of = _loss(data, loss)
    history = run.history
    with Bar(steps, len(history.losses), show=progress) as bar:
        try:
            for step in range(len(history.losses), steps):
                value, norm = run.step(loss_of, _to(_batch(data, step), device), step, clip, clipping)
                history.losses.append(value)
                history.norms.append(norm)
                done = step + 1
                if valid is not None and (done % eval_every == 0 or done == steps):
                    history.valid.append((done, evaluate(model, valid, loss, device)))
                if done % checkpoint_every == 0 or done == steps:
                    run.save()
                bar.update(done, f"loss {value:.4f}")
        except KeyboardInterrupt:
            run.save()
            where = f"; {run.path} has it, and the same call goes on" if run.path else ""
            bar.close(f"stopped at step {len(history.losses)} of {steps}{where}")
    return history


def evaluate(
    model: nn.Module,
    data: Iterable[tuple],
    loss: Callable[..., Tensor] | None = None,
    device: torch.device | None = None,
) -> float:
    """The mean loss over one pass of `data`, each batch weighed by the words (or rows) that it counts."""
    device = best_device() if device is None else device
    loss_of, pad = _loss(data, loss), getattr(data, "pad", None)
    was = model.training
    model.eval()
    total = weight = 0.0
    with torch.no_grad():
        for batch in data:
            batch = _to(batch, device)
            counted = len(batch[0]) if pad is None else int((batch[-1][:, 1:] != pad).sum())
            total += counted * float(loss_of(model, *batch))
            weight += counted
    model.train(was)
    if not weight:
        raise ValueError("there are no batches to evaluate on; give at least one")
    return total / weight


@dataclass
class _Run:
    """All that a checkpoint holds, and where it is."""

    model: nn.Module
    optimiser: torch.optim.Optimizer
    history: History
    device: torch.device
    path: Path | None
    settings: dict[str, Any] = field(default_factory=dict)

    def step(
        self, loss_of: Callable[..., Tensor], batch: tuple, step: int, clip: float | None, clipping: str
    ) -> tuple[float, float]:
        """One update; the loss before it and the norm of its gradient."""
        self.optimiser.zero_grad()
        loss = loss_of(self.model, *batch)
        value = float(loss)
        self._need_finite("loss", value, step)
        loss.backward()
        used = [p for p in self.model.parameters() if p.grad is not None]
        gradients = [p.grad for p in used if p.grad is not None]
        norm = float(torch.stack([g.norm() for g in gradients]).norm())
        self._need_finite("gradient's norm", norm, step)
        if clip is not None:
            for p, clipped in zip(used, CLIPPING[clipping](gradients, clip), strict=True):
                p.grad = clipped
        self.optimiser.step()
        return value, norm

    def _need_finite(self, what: str, value: float, step: int) -> None:
        if not isfinite(value):
            raise StoppedTraining(
                f"the {what} is {value} at step {step}; the weights are those of the step before: try a smaller "
                f"rate than {self.settings['rate']}" + ("" if self.settings["clip"] else ", or clip=1.0")
            )

    def save(self) -> None:
        """Write all of it beside the old file, then put it in its place: never half a file."""
        if self.path is None:
            return
        state = {
            "settings": self.settings,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "history": asdict(self.history),
            "random": _random_states(self.device),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".part")
        with beside.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.path)

    def resume(self) -> None:
        """Take up the checkpoint, if there is one; refuse one of another run."""
        if self.path is None or not self.path.exists():
            return
        again = "give another path, or resume=False to begin anew"
        try:
            state = torch.load(self.path, map_location=self.device, weights_only=True)
            theirs, history = state["settings"], state["history"]
        except Exception as error:
            raise StoppedTraining(f"{self.path} is not a checkpoint of this trainer; {again}") from error
        for name, mine in self.settings.items():
            if theirs.get(name) != mine:
                raise StoppedTraining(
                    f"{self.path} is of a run with {name}={theirs.get(name)}, not {mine}; {again}"
                )
        try:
            self.model.load_state_dict(state["model"])
            self.optimiser.load_state_dict(state["optimiser"])
        except (RuntimeError, ValueError) as error:
            raise StoppedTraining(f"{self.path} is of a model with other parameters; {again}") from error
        limit = self.history.limit
        self.history = History(**history)
        self.history.limit = limit
        _set_random_states(state["random"], self.device)


def _steps(data: Any, steps: int | None, epochs: int | None) -> int:
    if (steps is None) == (epochs is None):
        raise ValueError(f"steps is {steps} and epochs is {epochs}; give one of them")
    if steps is None:
        if not hasattr(data, "__len__"):
            raise ValueError("epochs needs data with a length; for a function of the step, give steps")
        steps = (epochs or 0) * len(data)
    if steps < 1:
        raise ValueError(f"the run has {steps} steps; it needs at least 1")
    return steps


def _optimiser(model: nn.Module, optimiser: Any, rate: float) -> torch.optim.Optimizer:
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("the model has no parameters to train")
    if callable(optimiser):
        return optimiser(parameters)
    if optimiser not in OPTIMISERS:
        raise ValueError(
            f"optimiser is {optimiser!r}; it needs to be one of {', '.join(OPTIMISERS)}, or a function"
        )
    return OPTIMISERS[optimiser](parameters, lr=rate)


def _loss(data: Any, loss: Callable[..., Tensor] | None) -> Callable[..., Tensor]:
    if loss is not None:
        return loss
    pad = getattr(data, "pad", None)
    return lambda model, *batch: model.loss(*batch) if pad is None else model.loss(*batch, pad=pad)


def _batch(data: Any, step: int) -> tuple:
    if callable(data):
        batch = data(step)
    elif isinstance(data, (list, tuple)):
        batch = data[step % len(data)]
    elif hasattr(data, "__getitem__"):
        batch = data[step]
    else:
        raise TypeError(
            f"data is a {type(data).__name__}, which has no batch for a given step, so a run could not be resumed; "
            "give a list of batches, a coursekit.data.Batches, or a function from the step to a batch"
        )
    return (batch,) if isinstance(batch, Tensor) else batch


def _to(batch: tuple | Tensor, device: torch.device) -> tuple:
    return tuple(tensor.to(device) for tensor in ((batch,) if isinstance(batch, Tensor) else batch))


def _random_states(device: torch.device) -> dict[str, Tensor]:
    """torch's own generator, and that of the device where it has one."""
    states = {"torch": torch.get_rng_state()}
    own = getattr(getattr(torch, device.type, None), "get_rng_state", None)
    if own is not None:
        states["device"] = own()
    return states


def _set_random_states(states: dict[str, Tensor], device: torch.device) -> None:
    torch.set_rng_state(states["torch"].to(torch.get_rng_state().device))
    own = getattr(getattr(torch, device.type, None), "set_rng_state", None)
    if own is not None and "device" in states:
        own(states["device"].to(torch.get_rng_state().device))
