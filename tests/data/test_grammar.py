"""The entropy of a grammar, and its best predictor, against the enumeration of all sentences."""

from collections import Counter
from math import exp, log

import numpy as np
import pytest

from coursekit.data import EOS, BadData, Grammar, brackets, english

FINITE = Grammar("""
    S  -> NP VP [0.9] | NP [0.1]
    NP -> the N [0.7] | we [0.3]
    N  -> old N1 [0.25] | N1 [0.75]
    N1 -> cat [0.5] | dog [0.3] | cat flap [0.2]
    VP -> runs | sees NP
""")


def enumerate_sentences(grammar, most=10**6):
    """Every derivation's (words, probability), by rewriting the leftmost symbol: the oracle."""
    todo, found = [((), (grammar.start,), 1.0)], []
    while todo:
        words, rest, p = todo.pop()
        if not rest:
            found.append((words, p))
        elif rest[0] not in grammar.rules:
            todo.append(((*words, rest[0]), rest[1:], p))
        else:
            todo += [(words, (*rule.right, *rest[1:]), p * rule.p) for rule in grammar.rules[rest[0]]]
        assert len(found) < most
    return found


@pytest.fixture(scope="module")
def all_sentences():
    found = enumerate_sentences(FINITE)
    assert len({words for words, _ in found}) == len(found) > 50
    return dict(found)


def test_the_probabilities_of_all_sentences_sum_to_one(all_sentences):
    assert sum(all_sentences.values()) == pytest.approx(1, abs=1e-12)


def test_entropy_and_length_match_enumeration(all_sentences):
    entropy = -sum(p * log(p) for p in all_sentences.values())
    length = sum(p * len(words) for words, p in all_sentences.items())
    assert FINITE.entropy == pytest.approx(entropy, rel=1e-12)
    assert FINITE.length == pytest.approx(length, rel=1e-12)
    assert FINITE.entropy_per_word == pytest.approx(entropy / (length + 1), rel=1e-12)
    assert FINITE.perplexity == pytest.approx(exp(entropy / (length + 1)), rel=1e-12)


def test_the_predictor_matches_enumeration_at_every_prefix(all_sentences):
    mass = Counter()
    for words, p in all_sentences.items():
        for n in range(len(words) + 1):
            mass[words[:n]] += p
        mass[(*words, EOS)] += p
    prefixes = {words[:n] for words in all_sentences for n in range(len(words) + 1)}
    assert ("the", "cat") in prefixes  # where two rules, cat and cat flap, are still possible
    for prefix in prefixes:
        P = FINITE.predict(prefix)
        for word in {*FINITE.words, EOS}:
            assert P.get(word, 0.0) == pytest.approx(mass[(*prefix, word)] / mass[prefix], abs=1e-12)


def test_losses_sum_to_the_logarithm_of_the_sentences_probability(all_sentences):
    for words, p in all_sentences.items():
        assert sum(FINITE.losses(words)) == pytest.approx(-log(p), rel=1e-12)


def test_the_expected_loss_of_the_best_predictor_is_the_entropy(all_sentences):
    expected = sum(p * sum(FINITE.losses(words)) for words, p in all_sentences.items())
    assert expected == pytest.approx(FINITE.entropy, rel=1e-12)


def test_a_recursive_grammar_has_the_entropy_of_its_series():
    # n words with probability 2^-n: H = sum n 2^-n ln 2 = 2 ln 2.
    grammar = Grammar("S -> a [0.5] | b S [0.5]")
    assert grammar.entropy == pytest.approx(2 * log(2), rel=1e-12)
    assert grammar.length == pytest.approx(2, rel=1e-12)
    # n = 1, 2, … with probability 0.2 · 0.8^(n-1), and 2n words.
    p = 0.2 * 0.8 ** np.arange(2000)
    counting = Grammar("S -> a b [0.2] | a S b [0.8]")
    assert counting.entropy == pytest.approx(-(p * np.log(p)).sum(), rel=1e-9)
    assert counting.length == pytest.approx((2 * p * np.arange(1, 2001)).sum(), rel=1e-9)


def test_the_best_predictor_of_nested_brackets_keeps_a_stack():
    P = brackets().predict("( { ( )")
    assert set(P) == {
        "(",
        "{",
        "}",
    }  # it may go on, or close the inner bracket; not the outer one, not the end
    # Inside { S }: after one B, S goes on with 0.4.
    assert P["}"] == pytest.approx(0.6, rel=1e-12)


@pytest.mark.parametrize("make", [english, brackets])
def test_sampled_losses_agree_with_the_entropy(make):
    grammar = make()
    assert grammar.ambiguous() is None
    losses = [sum(grammar.losses(words)) for words in grammar.sample(1500, seed=1)]
    error = np.std(losses) / len(losses) ** 0.5
    assert abs(np.mean(losses) - grammar.entropy) < 4.5 * error


def test_samples_have_the_rules_frequencies_and_depend_on_the_seed(all_sentences):
    drawn = Counter(FINITE.sample(4000, seed=2))
    assert set(drawn) <= set(all_sentences)
    for words, p in sorted(all_sentences.items(), key=lambda item: -item[1])[:5]:
        assert drawn[words] / 4000 == pytest.approx(p, abs=4.5 * (p * (1 - p) / 4000) ** 0.5)
    assert FINITE.sample(50, seed=3) == FINITE.sample(50, seed=3) != FINITE.sample(50, seed=4)


def test_english_keeps_agreement_over_a_distance():
    after_one = english().predict("the boat near the gulls")
    after_many = english().predict("the boats near the gull")
    assert "sinks" in after_one
    assert "sink" not in after_one
    assert "sink" in after_many
    assert "sinks" not in after_many


def test_rows_begin_and_end_with_eos_and_batches_carry_the_pad():
    rows = FINITE.rows([("we", "runs"), ("the", "cat", "runs")])
    v = FINITE.vocabulary
    assert v.decode(rows[0]) == [EOS, "we", "runs", EOS, "<pad>"]
    batches = FINITE.batches(100, size=16)
    assert batches.pad == v.pad
    assert v.unk not in batches[0][0]


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("S -> A B\nA -> a | a a\nB -> b | a b", "a a b"),
        ("S -> A | B\nA -> x\nB -> x", "x"),
        ("S -> a S [0.3] | a S b [0.3] | c", "a a c b"),
    ],
)
def test_an_ambiguous_grammar_is_refused_with_a_witness(text, prefix):
    grammar = Grammar(text)
    witness = grammar.ambiguous()
    assert prefix.startswith(" ".join(witness))
    with pytest.raises(BadData, match="in two ways"):
        grammar.entropy


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no rules"),
        ("S a b", "line 1, `S a b`: a rule needs the form"),
        ("S -> a\nS -> b", "line 2.*S has rules already"),
        ("S -> a | ", "an alternative is empty"),
        ("S -> a [0.5] | b [0.6]", r"the probabilities are \[0.5, 0.6\]"),
        ("S -> a [1.0] | b", "need to be above 0"),
        ("S -> a b | a c | a b", "`a b` stands twice"),
        ("S -> a [half]", "needs to be a number"),
        ("NP -> a", "no rule for S"),
        ("S -> S a [0.1] | b", "may begin with S itself"),
        ("S -> A b\nA -> S c | d", "may begin with S itself"),
        ("S -> a S S [0.5] | b [0.5]", "do not end"),
        ("S -> A:x B:y\nA -> a\nB -> b", "without a label, the head"),
    ],
)
def test_a_bad_grammar_is_refused_in_a_sentence(text, says):
    with pytest.raises(BadData, match=says):
        Grammar(text)


def test_a_word_that_cannot_follow_is_named():
    with pytest.raises(BadData, match="'cat' at place 1 of `we cat`"):
        FINITE.predict("we cat")


def test_the_losses_of_an_unfinished_sentence_are_refused():
    with pytest.raises(BadData, match="`the boat near` is no whole sentence"):
        english().losses(["the", "boat", "near"])
