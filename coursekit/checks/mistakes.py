"""The named mistakes of a question: wrong answers that students give, each with the sentence it deserves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """`wrong` is what a student with this mistake would have handed in: a function with the signature of
    the question's (it may return only the parts that the mistake touches), a number, a label, an equation.

    A mistake contains a formula close to the answer: it belongs to hidden tests, never to visible ones.
    """

    name: str
    sentence: str
    wrong: object
