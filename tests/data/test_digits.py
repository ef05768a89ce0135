"""Digits from scikit-learn, and one sentence where it is missing."""

import subprocess
import sys

import numpy as np
import pytest

from coursekit.data import Digits


@pytest.fixture(scope="module")
def digits():
    return Digits.load()


def test_every_image_is_in_one_split_and_every_digit_in_both(digits):
    assert digits.train.shape == (1438, 8, 8)
    assert digits.test.shape == (359, 8, 8)
    assert digits.train.min() == 0
    assert digits.train.max() == 1
    assert set(digits.train_labels) == set(digits.test_labels) == set(range(10))


def test_they_are_the_images_that_scikit_learn_loads(digits):
    theirs = pytest.importorskip("sklearn.datasets").load_digits()
    assert np.array_equal(digits.test, (theirs.images[4::5] / 16).astype(np.float32))
    assert np.array_equal(digits.test_labels, theirs.target[4::5])
    assert np.array_equal(digits.train[:4], (theirs.images[:4] / 16).astype(np.float32))


def test_without_scikit_learn_one_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from coursekit.data import Digits\n"
        "try: Digits.load()\n"
        "except ImportError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().startswith("the digits come with scikit-learn: install it with")


def test_importing_data_imports_neither_torch_nor_scikit_learn():
    code = (
        "import sys; from coursekit import data; data.python_reference(), data.english().entropy\n"
        "data.Scenes.draw(2), data.Digits.load()\n"
        "sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
