import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can say `from systems import SYSTEMS`


@pytest.fixture(scope="session")
def systems() -> dict[str, str]:
    """The systems of the course, by name."""
    from systems import SYSTEMS

    return SYSTEMS
