"""Gold answers are right: read off by hand for single sentences, and by their properties for all."""

import numpy as np

from coursekit.data import EOS, Grammar, dependencies, parse, translate, translation
from coursekit.data.tasks import DEPENDENCIES, TRANSLATION
from coursekit.data.trees import Tree


def derive(grammar, words):
    """The one derivation of a sentence, found by trying rules top-down: an oracle apart from sampling."""

    def of(symbol, rest):
        if symbol not in grammar.rules:
            if rest[:1] == (symbol,):
                yield symbol, rest[1:]
            return
        for rule in grammar.rules[symbol]:
            partial = [((), rest)]
            for name in rule.right:
                partial = [((*done, tree), left) for done, at in partial for tree, left in of(name, at)]
            yield from ((Tree(rule, done), left) for done, left in partial)

    (tree,) = [tree for tree, left in of(grammar.start, tuple(words.split())) if not left]
    return tree


def test_a_sentence_has_the_parse_that_a_linguist_gives_it():
    found = parse(derive(Grammar(DEPENDENCIES), "we booked the evening train through Vienna"))
    head = {
        word: (label, "-" if n < 0 else found.words[n]) for word, label, n in zip(*_rows(found), strict=True)
    }
    assert head == {
        "we": ("nsubj", "booked"),
        "booked": ("root", "-"),
        "the": ("det", "train"),
        "evening": ("nmod", "train"),
        "train": ("dobj", "booked"),
        "through": ("case", "Vienna"),
        "Vienna": ("nmod", "train"),
    }


def _rows(found):
    return found.words, found.labels, found.heads


def test_every_parse_is_a_tree_with_one_root():
    task = dependencies(200)
    for p in task.parses:
        assert [n for n, head in enumerate(p.heads) if head < 0] == [p.labels.index("root")]
        for n in range(len(p.words)):
            path = [n]
            while p.heads[path[-1]] >= 0:
                path.append(p.heads[path[-1]])
                assert len(path) <= len(p.words)
    assert task.labels == ("amod", "case", "det", "dobj", "nmod", "nsubj")
    assert task.grammar.ambiguous() is None


def test_a_sentence_has_the_translation_and_alignment_worked_out_by_hand():
    pair = translate(derive(Grammar(TRANSLATION), "the old dog sees a house slowly"))
    assert pair.target == ("lo", "keru", "gama", "pas", "pasu", "un", "doma", "vidra")
    #                       the   dog     old     slowly       a     house   sees
    assert pair.alignment == {(0, 0), (1, 2), (2, 1), (3, 6), (4, 6), (5, 4), (6, 5), (7, 3)}


def test_a_symbol_twice_in_a_rule_without_a_second_side_keeps_its_order():
    pair = translate(derive(Grammar("S -> A and A\nA -> x => one | y => two"), "x and y"))
    assert pair.target == ("one", "and", "two")
    assert pair.alignment == {(0, 0), (1, 1), (2, 2)}


def test_every_pair_is_aligned_word_by_word_and_fixed_by_its_source():
    task = translation(500)
    by_source = {}
    for p in task.pairs:
        assert by_source.setdefault(p.source, p.target) == p.target
        assert {t for t, _ in p.alignment} == set(range(len(p.target)))
        assert {s for _, s in p.alignment} == set(range(len(p.source)))
    moved = sum(any(t != s for t, s in p.alignment) for p in task.pairs)
    assert moved == len(task.pairs)  # the verb always moves


def test_rows_are_what_the_models_read():
    task = translation(20)
    source, target = task.batches(size=20)[0]
    assert source.shape[0] == target.shape[0] == 20
    assert (target[:, 0] == task.target.eos).all()
    assert task.target.decode(task.target_rows(task.pairs[:1])[0]) == [EOS, *task.pairs[0].target, EOS]
    assert task.source.decode(task.source_rows(task.pairs[:1])[0]) == list(task.pairs[0].source)
    assert task.source.unk not in source
    assert task.target.unk not in target
    (w,) = dependencies(10).batches(size=10)[0]
    assert (w[:, 0] == 1).all()


def test_tasks_are_the_same_for_a_seed_and_differ_between_seeds():
    assert translation(20, seed=1).pairs == translation(20, seed=1).pairs != translation(20, seed=2).pairs
    assert np.array_equal(dependencies(5).batches()[0][0], dependencies(5).batches()[0][0])
