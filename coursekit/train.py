"""One small trainer for every model of the course.

    history = train(model, grammar.batches(2000), steps=500, clip=1.0, limit=grammar.entropy_per_word)
    history.plot()

`data` is anything that has a batch for every step: a `coursekit.data.Batches`, a list of batches, or a
function from the step to a batch. A batch is a tensor or a tuple of tensors, and the loss is
`model.loss(*batch)`, or what `loss(model, *batch)` gives. With a checkpoint, a run that was stopped goes on
where it was and gives, on the same machine, the very numbers of a run that was not: weights, optimiser and
torch's random state are kept, and the data is a function of the step.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from . import device as best_device
from . import figures
from .figures.bar import Bar
from .files import replacing
from .models.clipping import clip_each, clip_global
from .models.guards import need_one_of

OPTIMISERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
CLIPPING = {"global": clip_global, "each": clip_each}


class StoppedTraining(RuntimeError):
    """The run cannot go on; the message says why, and what to try."""


class BadCheckpoint(ValueError):
    """The file is no checkpoint, or that of another run; the message says what to do."""


@dataclass
class History:
    """What was measured: `losses[n]` and `norms[n]` (of the whole gradient, before clipping) at step n.

    >>> History([2.0, 1.5], limit=1.2)
    History of 2 steps: loss 2.0000 → 1.5000, limit 1.2000
    """

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    valid: list[tuple[int, float]] = field(default_factory=list)  # (steps done, loss on the validation data)
    limit: float | None = None  # the entropy per word: no model can do better

    def plot(self, **options: Any) -> Any:
        """The loss by step, with the limit: see `coursekit.figures.loss_curve`."""
        return figures.loss_curve(self, **options)

    def __repr__(self) -> str:
        if not self.losses:
            return "History of no steps"
        ends = f"loss {self.losses[0]:.4f} → {self.losses[-1]:.4f}"
        valid = f", validation {self.valid[-1][1]:.4f}" if self.valid else ""
        limit = f", limit {self.limit:.4f}" if self.limit is not None else ""
        return f"History of {len(self.losses)} steps: {ends}{valid}{limit}"


def train(
    model: nn.Module,
    data: Any,
    *,
    steps: int,
    loss: Callable[..., Tensor] | None = None,
    optimiser: str | Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = "adam",
    rate: float = 1e-2,
    clip: float | None = None,
    clipping: str = "global",
    seed: int = 0,
    valid: Any = None,
    eval_every: int = 50,
    limit: float | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 100,
    device: torch.device | None = None,
    progress: bool = True,
) -> History:
    """Train `model` in place for `steps` and return what was measured.

    `clip` is the largest norm of the gradient: of all tensors, or of "each". `valid` is a list or `Batches`, evaluated
    every `eval_every` steps and at the end. `seed` fixes what the model draws while it trains (dropout); its first
    weights were drawn before, where it was made. An interrupt ends the run after its step, leaves a checkpoint where
    one was asked for, and returns the history so far.
    """
    need_one_of("clipping", clipping, CLIPPING)
    device = best_device() if device is None else device
    model.to(device).train()
    parameters = [p for p in model.parameters() if p.requires_grad]
    if isinstance(optimiser, str):
        need_one_of("optimiser", optimiser, OPTIMISERS)
        step_down: torch.optim.Optimizer = OPTIMISERS[optimiser](parameters, lr=rate)
    else:
        step_down = optimiser(parameters)
    settings = {"seed": seed, "rate": rate, "clip": clip, "clipping": clipping}
    settings["optimiser"] = type(step_down).__name__
    run = _Run(model, step_down, device, settings)
    path = None if checkpoint is None else Path(checkpoint)
    torch.manual_seed(seed)
    history = run.load(path) if path is not None and path.exists() else History()
    history.limit = limit
    loss_of = _loss(data, loss)
    done = len(history.losses)
    with Bar(steps, done, show=progress) as bar, _interrupts() as asked:
        for step in range(done, steps):
            step_down.zero_grad()
            place = step % len(data) if isinstance(data, (list, tuple)) else step
            now = loss_of(model, *_to(data(step) if callable(data) else data[place], device))
            value = float(now.detach())
            _need_finite("loss", value, step, rate, clip)
            now.backward()
            used = [p for p in parameters if p.grad is not None]
            gradients = [p.grad for p in used if p.grad is not None]
            norm = float(torch.stack([g.norm() for g in gradients]).norm())
            _need_finite("norm of the gradient", norm, step, rate, clip)
            short = gradients if clip is None else CLIPPING[clipping](gradients, clip)
            for p, g in zip(used, short, strict=True):
                p.grad = g
            step_down.step()
            history.losses.append(value)
            history.norms.append(norm)
            done = step + 1
            ends = done == steps or bool(asked)
            if valid is not None and (done % eval_every == 0 or done == steps):
                history.valid.append((done, evaluate(model, valid, loss, device)))
            if path is not None and (done % checkpoint_every == 0 or ends):
                run.save(path, history)
            bar.update(done, f"loss {value:.4f}")
            if asked and done < steps:
                kept = f"; the same call goes on from {path}" if path else ""
                bar.note = f"stopped after step {done}{kept}"
                break
    return history


def evaluate(
    model: nn.Module,
    data: Any,
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
    return total / weight


def _need_finite(what: str, value: float, step: int, rate: float, clip: float | None) -> None:
    if not isfinite(value):
        raise StoppedTraining(
            f"the {what} is {value} at step {step}; try a smaller rate than {rate}"
            + ("" if clip else ", or clip=1.0")
            + " (the model keeps the weights of the step before)"
        )


@contextmanager
def _interrupts() -> Iterator[list[bool]]:
    """While a run goes on, the first interrupt waits for the end of its step; the second does not wait."""
    asked: list[bool] = []

    def ask(*_: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(True)

    if threading.current_thread() is not threading.main_thread():
        yield asked  # Python lets only the main thread have a say in signals
        return
    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _loss(data: Any, loss: Callable[..., Tensor] | None) -> Callable[..., Tensor]:
    if loss is not None:
        return loss
    pad = getattr(data, "pad", None)
    return lambda model, *batch: model.loss(*batch) if pad is None else model.loss(*batch, pad=pad)


def _to(batch: Any, device: torch.device) -> tuple[Tensor, ...]:
    return tuple(tensor.to(device) for tensor in ((batch,) if isinstance(batch, Tensor) else batch))


# ── a run on disk: all that is needed to go on as if nothing had happened ────────────────────────


@dataclass
class _Run:
    model: nn.Module
    optimiser: torch.optim.Optimizer
    device: torch.device
    settings: dict[str, Any]  # in which the call that goes on must agree

    def save(self, path: Path, history: History) -> None:
        """Write everything beside the old file, then put it in its place: there is never half a checkpoint."""
        state = {
            "settings": self.settings,
            "history": asdict(history),
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "random": {name: one.get_rng_state() for name, one in self._generators().items()},
        }
        with replacing(path) as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())

    def load(self, path: Path) -> History:
        """Put back weights, optimiser and random state. Refuse the file of another run."""
        again = "give another path, or remove the file to begin anew"
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            history, theirs, random = History(**state["history"]), state["settings"], state["random"]
        except Exception as error:
            words = f"{path} is not a checkpoint of this trainer, or is damaged"
            raise BadCheckpoint(f"{words}; {again}") from error
        for name, mine in self.settings.items():
            if theirs.get(name) != mine:
                words = f"{path} is of a run with {name}={theirs.get(name)}, and this one has {mine}"
                raise BadCheckpoint(f"{words}; {again}")
        own = {name: tensor.shape for name, tensor in self.model.state_dict().items()}
        if {name: tensor.shape for name, tensor in state["model"].items()} != own:
            raise BadCheckpoint(f"{path} is of a model with other parameters; {again}")
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        memory = torch.get_rng_state().device  # generators keep their state in ordinary memory
        for name, one in self._generators().items():
            if name in random:
                one.set_rng_state(random[name].to(memory))
        return history

    def _generators(self) -> dict[str, Any]:
        """Whose generators' states are read and put back: torch's own and, where it has one, the device's."""
        homes: dict[str, Any] = {"torch": torch, "device": getattr(torch, self.device.type, None)}
        return {name: home for name, home in homes.items() if hasattr(home, "get_rng_state")}
