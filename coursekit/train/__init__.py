"""One small trainer for every model of the course, and the file in which a run is kept."""

from .trainer import History, StoppedTraining, evaluate, train

__all__ = ["History", "StoppedTraining", "evaluate", "train"]
