"""Two tensors are the same number for number, to the last digits of a float64."""

import torch


def close(a: torch.Tensor, b: torch.Tensor, tolerance: float = 1e-12) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)
