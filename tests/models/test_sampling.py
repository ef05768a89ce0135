"""Temperature and its inverse, the limit of zero, and sampling that follows the distribution."""

import math

import pytest
import torch
from pretend_device import pretend_device

from coursekit.models.guards import BadInput
from coursekit.models.sampling import TEMPERED, generate, greedy, inverse_temperature, probabilities, sample
from coursekit.models.transformer import TransformerLM
from coursekit.notation import Equations

D = torch.float64
Z = torch.tensor([[0.5, 2.0, -1.0, 2.0], [3.0, -700.0, 700.0, 0.0]], dtype=D)


def entropy(P):
    return float(torch.special.entr(P).sum())


@pytest.mark.parametrize("temperature", [0.1, 0.5, 1, 3.0])
def test_temperature_is_the_inverse_of_beta(temperature):
    expected = torch.softmax(Z / temperature, -1)
    torch.testing.assert_close(probabilities(Z, temperature), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(probabilities(Z, beta=1 / temperature), expected, rtol=0, atol=1e-12)
    run = Equations(TEMPERED).run({"z": Z, "beta": torch.tensor(1 / temperature, dtype=D)})
    torch.testing.assert_close(run["P"], expected, rtol=0, atol=1e-12)


def test_the_two_limits():
    z = torch.randn(6, dtype=D)
    assert entropy(probabilities(z, beta=0)) == pytest.approx(math.log(6))
    assert probabilities(z, beta=1e4).max() == pytest.approx(1)
    assert torch.equal(probabilities(z, temperature=math.inf), torch.full_like(z, 1 / 6))
    hot = torch.nn.functional.one_hot(z.argmax(), 6).to(D)
    for cold in ({"temperature": 0}, {"beta": math.inf}, {"temperature": 1e-320}):
        assert torch.equal(probabilities(z, **cold), hot)


def test_the_lower_the_temperature_the_lower_the_entropy():
    z = torch.randn(6, dtype=D)
    entropies = [entropy(probabilities(z, t)) for t in (0, 0.3, 1, 3, 10)]
    assert entropies == sorted(entropies)
    assert entropies[0] == 0


@pytest.mark.parametrize("dtype", [torch.float32, D])
@pytest.mark.parametrize("beta", [1e30, 1e37, 1e100, 1e308])
def test_a_very_large_beta_gives_no_nan(beta, dtype):
    P = probabilities(Z.to(dtype), beta=beta)
    assert torch.equal(P[1], torch.tensor([0, 0, 1, 0], dtype=dtype))
    assert torch.isfinite(P).all()


def test_zero_temperature_takes_the_first_of_equals():
    assert greedy(Z).tolist() == [1, 2]
    assert probabilities(Z, 0)[0].tolist() == [0, 1, 0, 0]
    assert {int(sample(Z[0], 0)) for _ in range(50)} == {1}
    assert greedy(torch.zeros(3, 5)).tolist() == [0, 0, 0]


def test_samples_follow_the_distribution():
    """Pearson's chi-square, 4 words: 16.27 is exceeded once in a thousand seeds; this seed is fixed."""
    z = torch.tensor([0.0, 1.0, -0.5, 0.3], dtype=D)
    P = probabilities(z, 0.7)
    n = 20_000
    words = sample(z.expand(n, 4), 0.7, generator=torch.Generator().manual_seed(1))
    chi_square = lambda P: float(((words.bincount(minlength=4) - n * P) ** 2 / (n * P)).sum())
    assert chi_square(P) < 16.27
    assert chi_square(probabilities(z, 1.0)) > 100  # another temperature would be seen


def counting(w):
    """A model that is sure of the next number modulo 5."""
    return 50.0 * torch.nn.functional.one_hot((w + 1) % 5, 5)


def test_generation_feeds_each_word_back():
    assert generate(counting, torch.tensor([[3], [0]]), 4, 0).tolist() == [[3, 4, 0, 1, 2], [0, 1, 2, 3, 4]]
    assert generate(counting, torch.tensor([[3]]), 0).tolist() == [[3]]


def test_generation_is_the_same_for_the_same_seed():
    model, w = TransformerLM(7, 6, 2, 1), torch.tensor([[1, 2]])
    draw = lambda seed: generate(model, w, 20, generator=torch.Generator().manual_seed(seed)).tolist()
    assert draw(3) == draw(3)
    assert draw(3) != draw(4)


def test_no_code_names_a_device():
    model, w = TransformerLM(7, 6, 2, 1), torch.tensor([[1, 2], [3, 4]])
    expected = generate(model, w, 5, 0)
    with pretend_device() as device, torch.no_grad():
        there = generate(device.place(model), device.place(w), 5, 0)
        assert device.holds(there)
        assert torch.equal(device.fetch(there), expected)
        assert device.holds(probabilities(device.place(Z), 0.5))
    assert generate(TransformerLM(7, 6, 2, 1).to("meta"), w.to("meta"), 3).shape == (2, 5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: inverse_temperature(1, 1), "give one"),
        (lambda: inverse_temperature(-1), "is -1.0; it needs to be 0 or more"),
        (lambda: inverse_temperature(beta=math.nan), "is nan; it needs"),
        (lambda: probabilities(torch.tensor([0.0, math.nan])), "z of shape (2,) holds nan at [1]"),
        (lambda: probabilities(torch.zeros(2, 0)), "z is empty"),
        (lambda: generate(counting, torch.zeros(1, 0, dtype=torch.long), 2), "w is empty"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(BadInput) as error:
        call()
    assert words in str(error.value)
