"""Every step of every scheduler leaves a consistent state."""

import pytest

from tfattn.serving.generation.scheduler import Scheduler


@pytest.fixture(autouse=True)
def consistent_steps(monkeypatch):
    """Check the invariants after each step. The scheduler's thread reports an exception only to its callers."""
    violations, step = [], Scheduler._step

    def checked(scheduler):
        step(scheduler)
        try:
            scheduler.check_invariants()
        except AssertionError as error:
            violations.append(error)
            raise

    monkeypatch.setattr(Scheduler, "_step", checked)
    yield
    assert not violations
