"""Grammars whose entropy is known: the best loss that any model can reach is computed, not estimated.

    grammar = Grammar('''
        S  -> NP VP
        NP -> the N [0.7] | we [0.3]
        ...''')
    grammar.entropy                  # nats per sentence
    grammar.entropy_per_word         # nats per word, <eos> counted: the limit of a language model's loss
    grammar.predict(["the", "cat"])  # the best possible prediction of the next word

Let h(A) = -sum p ln p over the rules of a symbol A, and n(A,B) the expected number of B on their right
sides. The entropy of what A derives is H(A) = h(A) + sum over B of n(A,B) H(B): a linear system, and
likewise for the expected length. This is the entropy of derivations. It is that of sentences where no
sentence has two derivations; `entropy` refuses a grammar that has one.

The predictor keeps every stack of symbols that may be open after the words so far, with its probability. No
rule may begin with its own symbol, however indirectly: so a stack shows its next word after finitely
many steps, and the prediction is exact.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import exp, log

import numpy as np

from .batches import Batches, padded
from .trees import Rule, Tree, grow, read
from .vocabulary import EOS, BadData, Vocabulary

Item = tuple[str, tuple[str, ...]]  # a symbol and as much of its right side as has come
Stack = tuple[Item, ...]  # what is still open, the innermost last
Stacks = dict[Stack, float]


class Grammar:
    """A probabilistic grammar from its text (see `trees`); `start` is the symbol of a sentence."""

    def __init__(self, text: str, start: str = "S"):
        self.rules: dict[str, list[Rule]] = read(text)
        self.start = start
        if start not in self.rules:
            raise BadData(f"the grammar has no rule for {start}, the symbol it starts with")
        self._symbols = list(self.rules)
        self._check_left_recursion()
        self._n = self._expected_counts()

    def __repr__(self) -> str:
        return (
            f"Grammar of {len(self.words)} words: {self.entropy:.4f} nats per sentence of "
            f"{self.length:.2f} words, best perplexity {self.perplexity:.4f}"
        )

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words, in the order in which the rules name them."""
        parts = (name for rules in self.rules.values() for rule in rules for name in rule.right)
        return tuple(dict.fromkeys(name for name in parts if name not in self.rules))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.words)

    # The limit

    def _check_left_recursion(self) -> None:
        try:
            TopologicalSorter(
                {A: [rule.right[0] for rule in rules] for A, rules in self.rules.items()}
            ).prepare()
        except CycleError as error:
            A = next(A for A in self.rules if A in error.args[1])
            raise BadData(
                f"a derivation of {A} may begin with {A} itself; turn the recursion to the right"
            ) from None

    def _expected_counts(self) -> np.ndarray:
        """n[A,B], the expected number of symbols B on the right of A."""
        place = {A: k for k, A in enumerate(self._symbols)}
        n = np.zeros((len(place), len(place)))
        for A, rules in self.rules.items():
            for rule in rules:
                for name in rule.right:
                    if name in place:
                        n[place[A], place[name]] += rule.p
        radius = max(abs(np.linalg.eigvals(n)))
        if radius >= 1 - 1e-9:
            raise BadData(
                f"sentences of this grammar do not end: a symbol leads to {radius:.3f} of its own kind on average; "
                "give recursive alternatives a smaller probability"
            )
        return n

    def _solve(self, own: Mapping[str, float]) -> float:
        """x(start), where x(A) = own(A) + sum over B of n(A,B) x(B)."""
        x = np.linalg.solve(np.eye(len(self._n)) - self._n, [own[A] for A in self._symbols])
        return float(x[self._symbols.index(self.start)])

    @cached_property
    def length(self) -> float:
        """The expected number of words of a sentence, without <eos>."""
        words = lambda rule: rule.p * sum(name not in self.rules for name in rule.right)
        return self._solve({A: sum(map(words, rules)) for A, rules in self.rules.items()})

    @cached_property
    def entropy(self) -> float:
        """Nats per sentence."""
        two = self.ambiguous()
        if two is not None:
            raise BadData(
                f"`{' '.join(two)}` can be derived in two ways, so the entropy of sentences is not that of "
                "derivations; change the rules so that every sentence has one derivation"
            )
        return self._solve(
            {A: -sum(rule.p * log(rule.p) for rule in rules) for A, rules in self.rules.items()}
        )

    @property
    def entropy_per_word(self) -> float:
        """Nats per word, with <eos> as a word: no model's mean loss is lower, on enough sentences."""
        return self.entropy / (self.length + 1)

    @property
    def perplexity(self) -> float:
        """The best possible perplexity."""
        return exp(self.entropy_per_word)

    def ambiguous(self, most: int = 2000) -> list[str] | None:
        """The first words of a sentence that has two derivations, or None.

        Two derivations of one sentence come, at some word, to the same stack. All sets of stacks are visited,
        shortest beginnings first, but at most `most` of them: None is a proof for a grammar that has fewer.
        """
        begin: frozenset[Stack] = frozenset([((self.start, ()),)])
        seen, todo = {begin}, deque([(begin, list[str]())])
        while todo and len(seen) <= most:
            stacks, words = todo.popleft()
            after: dict[str, list[Stack]] = {}
            for stack in stacks:
                for word, rest, _ in self._next(stack, 1.0):
                    after.setdefault(word, []).append(rest)
            for word, rests in after.items():
                if len(set(rests)) < len(rests):
                    return words if word == EOS else [*words, word]
                following = frozenset(rests)
                if word != EOS and following not in seen:
                    seen.add(following)
                    todo.append((following, [*words, word]))
        return None

    # The best predictor

    @cached_property
    def _going_on(self) -> dict[Item, list[tuple[str | None, float]]]:
        """For each symbol A and beginning of its right sides: what comes next (None: A is done), and how likely.

        Alternatives that begin alike are kept as one until they part: else the number of stacks would double
        with each symbol that is open.
        """
        mass: dict[Item, dict[str | None, float]] = {}
        for A, rules in self.rules.items():
            for rule in rules:
                for n, name in enumerate((*rule.right, None)):
                    options = mass.setdefault((A, rule.right[:n]), {})
                    options[name] = options.get(name, 0.0) + rule.p
        return {
            item: [(name, p / sum(options.values())) for name, p in options.items()]
            for item, options in mass.items()
        }

    def _next(self, stack: Stack, p: float) -> Iterator[tuple[str, Stack, float]]:
        """Every next word of a stack (or <eos>), with the stack after it and the probability of both."""
        if not stack:
            yield EOS, (), p
            return
        (A, begun), rest = stack[-1], stack[:-1]
        for name, q in self._going_on[A, begun]:
            if name is None:
                yield from self._next(rest, p * q)
                continue
            item = (A, (*begun, name))
            here = rest if self._going_on[item] == [(None, 1.0)] else (*rest, item)
            if name in self.rules:
                yield from self._next((*here, (name, ())), p * q)
            else:
                yield name, here, p * q

    def predictions(self, words: Sequence[str]) -> list[dict[str, float]]:
        """P(next word | the words before) before each word of a sentence, and after the last: len(words)+1."""
        stacks: Stacks = {((self.start, ()),): 1.0}
        found = []
        for place in range(len(words) + 1):
            after: dict[str, Stacks] = {}  # for each next word, the stacks after it
            for stack, p in stacks.items():
                for word, rest, q in self._next(stack, p):
                    group = after.setdefault(word, {})
                    group[rest] = group.get(rest, 0.0) + q
            found.append({word: sum(group.values()) for word, group in after.items()})
            if place == len(words):
                break
            word = words[place]
            if word not in after or word == EOS:
                could = ", ".join(sorted(after)[:6])
                raise BadData(
                    f"no sentence goes on with {word!r} at place {place} of `{' '.join(words)}`; it could be {could} …"
                )
            total = sum(after[word].values())
            stacks = {stack: p / total for stack, p in after[word].items()}
        return found

    def predict(self, words: Sequence[str] | str = ()) -> dict[str, float]:
        """P(next word | words), with "<eos>" for the end; exact.

        >>> Grammar("S -> a b [0.25] | a S b [0.75]").predict("a")
        {'b': 0.25, 'a': 0.75}
        """
        return self.predictions(words.split() if isinstance(words, str) else words)[-1]

    def losses(self, words: Sequence[str]) -> list[float]:
        """-ln P of each word and of <eos>, by the best predictor; their sum is -ln P(sentence)."""
        words, predicted = list(words), self.predictions(words)
        if EOS not in predicted[-1]:
            raise BadData(
                f"`{' '.join(words)}` is no whole sentence; `predictions` takes one that is not finished"
            )
        return [-log(P[word]) for P, word in zip(predicted, [*words, EOS], strict=True)]

    # Sentences

    def trees(self, count: int, seed: int = 0) -> list[Tree]:
        """Derivations drawn at random."""
        draw = np.random.default_rng(seed)
        return [grow(self.rules, self.start, draw) for _ in range(count)]

    def sample(self, count: int, seed: int = 0) -> list[tuple[str, ...]]:
        """Sentences drawn at random."""
        return [tree.words for tree in self.trees(count, seed)]

    def rows(self, sentences: Iterable[Sequence[str]]) -> np.ndarray:
        """(N, longest+2) ids: <eos>, the words, <eos>, and <pad> to the end."""
        ids = self.vocabulary.encode
        return padded([ids([EOS, *words, EOS]) for words in sentences], Vocabulary.pad)

    def batches(self, count: int = 1000, size: int = 32, seed: int = 0) -> Batches:
        """Batches of `count` sentences drawn with `seed`; another seed gives sentences to validate on."""
        return Batches(self.rows(self.sample(count, seed)), size=size, seed=seed, pad=Vocabulary.pad)
