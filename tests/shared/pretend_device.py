"""A device that is not there: proof, without a GPU, that code keeps to the device of its inputs.

    with pretend_device() as device:
        model = device.place(model)          # parameters and buffers go to the pretend device
        y = model(device.place(x))
        assert device.holds(y)
        torch.testing.assert_close(device.fetch(y), expected)

Inside the `with`, a tensor on the pretend device says so (`x.device`), and computes real numbers.
An operation that mixes such a tensor with one of the ordinary memory raises `MixedDevices`, as a
GPU would: so `torch.zeros(3)` without `device=x.device` is found. As on a GPU, a 0-dimensional
ordinary tensor may take part, and `.to(device)`, `.copy_()`, `.item()`, `.tolist()`, `.numpy(force=True)` cross over.
Backward runs under the same rule.
"""

from __future__ import annotations

from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map

# A device type that torch knows, that no machine of ours has, and whose backward pass needs no
# driver. The models never see its name: they ask their inputs.
PRETEND = torch.device("lazy", 0)

_CROSSINGS = {torch.ops.aten._to_copy, torch.ops.aten.copy_}


class MixedDevices(RuntimeError):
    """One operation was given tensors of two devices."""


class Placed(Tensor):
    """A tensor that says it is on the pretend device; `inner` holds its numbers."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor):
        return Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=PRETEND,
            requires_grad=inner.requires_grad,
        )

    def __init__(self, inner: Tensor):
        self.inner = inner.detach()

    def __repr__(self):
        return f"Placed({self.inner})"

    def tolist(self):
        return self.inner.tolist()

    def numpy(self, *, force: bool = False):
        if not force:
            raise TypeError(f"can't convert a tensor on {PRETEND} to numpy; copy it to host memory first")
        return self.inner.numpy(force=True)

    def __getitem__(self, index):
        return super().__getitem__(_placed_lists(index))

    def __setitem__(self, index, value):
        super().__setitem__(_placed_lists(index), value)

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _run(func, args, kwargs or {})


def _placed_lists(index):
    """A list in an index becomes a tensor where the indexed one is: torch itself asks that device's driver."""
    if isinstance(index, tuple):
        return tuple(_placed_lists(item) for item in index)
    return Placed(torch.tensor(index)) if isinstance(index, list) else index


def _run(func, args, kwargs):
    leaves = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]
    placed = any(isinstance(leaf, Placed) for leaf in leaves)
    asked = kwargs.get("device")
    if placed and func.overloadpacket not in _CROSSINGS:
        for leaf in leaves:
            if not isinstance(leaf, Placed) and leaf.dim() > 0:
                shapes = ", ".join(f"{tuple(t.shape)} on {t.device}" for t in leaves)
                raise MixedDevices(f"{func} was given tensors of two devices: {shapes}")
    if asked is not None and torch.device(asked).type == PRETEND.type:
        kwargs = {**kwargs, "device": torch.device("cpu")}
        goes = True
    elif asked is not None and func.overloadpacket is torch.ops.aten._to_copy:
        goes = False
    elif func.overloadpacket is torch.ops.aten.copy_:
        goes = isinstance(args[0], Placed)
    else:
        goes = placed
    unwrap = lambda leaf: leaf.inner if isinstance(leaf, Placed) else leaf
    result = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs))
    if not goes:
        return result
    wrapped = tree_map(lambda leaf: Placed(leaf) if isinstance(leaf, Tensor) else leaf, result)
    return return_and_correct_aliasing(func, args, kwargs, wrapped) if placed else wrapped


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return _run(func, args, kwargs or {})

    @staticmethod
    def place(thing):
        """A tensor, a module, or a nest of tensors, on the pretend device."""
        if isinstance(thing, nn.Module):
            for module in thing.modules():
                for name, parameter in list(module._parameters.items()):
                    if parameter is not None and not isinstance(parameter, Placed):
                        moved = nn.Parameter(Placed(parameter.detach().clone()), parameter.requires_grad)
                        module._parameters[name] = moved
                for name, buffer in list(module._buffers.items()):
                    if buffer is not None:
                        module._buffers[name] = Placed(buffer.detach().clone())
            return thing

        def one(leaf):
            return Placed(leaf.detach().clone()).requires_grad_(leaf.requires_grad)

        return tree_map(lambda leaf: one(leaf) if isinstance(leaf, Tensor) else leaf, thing)

    @staticmethod
    def holds(thing) -> bool:
        """Whether every tensor of `thing` is on the pretend device (and there is one at all)."""
        leaves = [leaf for leaf in tree_flatten(thing)[0] if isinstance(leaf, Tensor)]
        return bool(leaves) and all(isinstance(leaf, Placed) for leaf in leaves)

    @staticmethod
    def fetch(thing):
        """The same tensors in ordinary memory."""
        return tree_map(lambda leaf: leaf.inner.clone() if isinstance(leaf, Placed) else leaf, thing)


class _FromData(TorchFunctionMode):
    """`torch.tensor([1, 2], device=x.device)` reaches no dispatcher: it is caught one level higher."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in (torch.tensor, torch.as_tensor) and not isinstance(args[0], Placed):
            device = kwargs.pop("device", None)
            made = func(*args, **kwargs)
            goes = device is not None and torch.device(device).type == PRETEND.type
            return Placed(made) if goes else made
        return func(*args, **kwargs)


@contextmanager
def pretend_device():
    with _Mode() as mode, _FromData():
        yield mode
