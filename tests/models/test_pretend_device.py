"""The pretend device finds what a GPU would find, and lets pass what a GPU lets pass."""

import pytest
import torch
from pretend_device import PRETEND, MixedDevices, pretend_device
from torch import nn


class Forgetful(nn.Module):
    """Creates its initial state without asking where its input is: the planted error."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x) + torch.zeros(x.shape)


class Careful(Forgetful):
    def forward(self, x):
        return self.linear(x) + torch.zeros(x.shape, device=x.device)


class Hidden(Forgetful):
    """Keeps a tensor that is neither parameter nor buffer: it stays behind when the model moves."""

    def __init__(self):
        super().__init__()
        self.mask = torch.ones(3)

    def forward(self, x):
        return self.linear(x) * self.mask


class Late(torch.autograd.Function):
    """Right on the way forward, wrong on the way back."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * torch.full(dy.shape, 2.0)


@pytest.mark.parametrize("model", [Forgetful, Hidden])
def test_a_tensor_made_elsewhere_is_found(model):
    x = torch.randn(2, 3)
    model()(x)  # on one device nothing is wrong
    with pretend_device() as device, pytest.raises(MixedDevices, match="two devices"):
        device.place(model())(device.place(x))


def test_a_tensor_made_elsewhere_in_backward_is_found():
    with pretend_device() as device:
        x = device.place(torch.randn(2, 3, requires_grad=True))
        y = Late.apply(x).sum()
        with pytest.raises(MixedDevices):
            y.backward()


def test_careful_code_passes_and_computes_the_same_numbers():
    model, x = Careful(), torch.randn(2, 3)
    expected = model(x)
    expected.sum().backward()
    gradient = model.linear.weight.grad.clone()
    model.zero_grad()
    with pretend_device() as device:
        y = device.place(model)(device.place(x))
        y.sum().backward()
        assert y.device == PRETEND
        assert device.holds([y, model.linear.weight.grad])
        torch.testing.assert_close(device.fetch(y), expected.detach(), rtol=0, atol=0)
        torch.testing.assert_close(device.fetch(model.linear.weight.grad), gradient, rtol=0, atol=0)


def test_what_a_gpu_allows_is_allowed():
    with pretend_device() as device:
        x = device.place(torch.arange(6.0).reshape(2, 3))
        assert device.holds(x + torch.tensor(1.0))  # a 0-dimensional ordinary tensor
        assert x.sum().item() == 15.0
        assert not device.holds(x.to(torch.device("cpu")))
        assert device.holds(torch.tensor([1, 2], device=x.device))
        assert not device.holds(torch.tensor([1, 2]))
        y = torch.empty_like(x)
        assert device.holds(y.copy_(torch.ones(2, 3)))


def test_holds_says_no_to_ordinary_tensors_and_to_nothing():
    with pretend_device() as device:
        assert not device.holds(torch.ones(2))
        assert not device.holds([device.place(torch.ones(2)), torch.ones(2)])
        assert not device.holds([])
