"""Scenes: the caption is true of the picture, and each word's place is where its thing is."""

import numpy as np

from coursekit.data import Scenes, Thing
from coursekit.data.scenes import COLOURS, SHAPES, VOCABULARY

SCENES = Scenes.draw(300, size=4)


def seen(M, x, y):
    """What stands at a place, by the features alone."""
    return COLOURS[M[x, y, :4].argmax()], SHAPES[M[x, y, 4:7].argmax()]


def test_captions_are_true_of_the_features_and_places_point_at_the_things():
    for M, words, places in zip(SCENES.features, SCENES.captions, SCENES.places, strict=True):
        a, colour1, shape1, relation, b, colour2, shape2 = words
        (x1, y1), (x2, y2) = places[1], places[5]
        assert (a, b) == ("a", "a")
        assert places == (None, (x1, y1), (x1, y1), None, None, (x2, y2), (x2, y2))
        assert seen(M, x1, y1) == (colour1, shape1)
        assert seen(M, x2, y2) == (colour2, shape2)
        if relation == "beside":
            assert x1 < x2
            assert x2 - x1 >= abs(y2 - y1)
        else:
            assert relation == "above"
            assert y1 < y2
            assert y2 - y1 > abs(x2 - x1)
        assert M[..., 7].sum() == 14  # every other place says that it is empty


def test_features_say_where_a_place_is():
    M = SCENES.features[0]
    assert M[0, 0, -2:].tolist() == [-1, -1]
    assert M[3, 0, -2:].tolist() == [1, -1]


def test_a_scene_fixes_its_caption_whatever_the_order_of_its_things():
    from coursekit.data.scenes import _ordered

    one, two = Thing("red", "circle", 3, 0), Thing("blue", "square", 0, 1)
    assert _ordered(one, two) == _ordered(two, one) == (two, one)


def test_batches_are_what_the_captioner_reads():
    M, caption = SCENES.batches(size=8)[0]
    assert M.shape == (8, 4, 4, 10)
    assert caption.shape == (8, 9)
    assert (caption[:, 0] == VOCABULARY.eos).all()
    assert (caption[:, -1] == VOCABULARY.eos).all()
    assert VOCABULARY.unk not in caption


def test_scenes_depend_on_the_seed_alone():
    assert Scenes.draw(20, seed=1) == Scenes.draw(20, seed=1) != Scenes.draw(20, seed=2)
    assert np.array_equal(Scenes.draw(3).features, Scenes.draw(3).features)
