"""Every test of a model draws the same numbers, alone or with the others."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
