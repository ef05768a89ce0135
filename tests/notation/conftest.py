import pytest


@pytest.fixture(params=["torch", "python"])
def engine(request, monkeypatch) -> str:
    """Every comparison of a test on one engine, and then on the other."""
    from coursekit.notation.compare import comparison
    from coursekit.notation.compare.draws import engine

    monkeypatch.setattr(comparison, "the_engine", lambda name: engine(name or request.param))
    return request.param


@pytest.fixture(scope="session")
def systems() -> dict[str, str]:
    """The systems of the course, by name."""
    from systems import SYSTEMS

    return SYSTEMS
