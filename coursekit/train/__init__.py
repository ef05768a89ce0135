"""One small trainer for every model of the course, and the file in which a run is kept."""

from __future__ import annotations

from .trainer import History, StoppedTraining, evaluate, train

__all__ = ["History", "StoppedTraining", "evaluate", "train"]
