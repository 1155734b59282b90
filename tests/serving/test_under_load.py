"""What must hold while clients keep asking: none of them notices new versions, restarts or each other.

The figures that belong to it are those of `python -m benchmarks.serving`; here, nothing is timed.
"""

import pytest

from benchmarks.serving import cobatching, overload, reloads, restarts, switches
from benchmarks.serving.exports import reports

slow = pytest.mark.slow


@pytest.fixture(scope="module")
def model(models):
    return models / "reports/10"


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=slow)])
def test_a_new_version_fails_no_request(model, times):
    seen = switches.measure(model, reports(), switches=times, rate=100, quiet=0.7)
    assert not seen.answers.failed, seen.answers.outcomes
    assert len(seen.windows) == times
    assert seen.during
    assert seen.quiet


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=slow)])
def test_a_restart_loses_no_accepted_request(model, times):
    seen = restarts.measure(model, reports(), restarts=times)
    assert not seen.answers.lost, seen.answers.outcomes
    assert seen.statuses == [0] * times


@pytest.mark.parametrize("times", [2, pytest.param(100, marks=slow)])
def test_reloads_lose_nothing_and_the_process_that_answers_does_not_grow(model, times):
    seen = reloads.measure(model, reports(), reloads=reloads.FIRST + times)
    assert not seen.failed
    assert seen.growth <= 5


@pytest.mark.parametrize("seconds", [2, pytest.param(30, marks=slow)])
def test_too_much_is_refused_and_what_is_accepted_is_answered_in_time(model, seconds):
    seen = overload.measure(model, reports(), seconds=seconds, gentle_seconds=1.5)
    assert set(seen.during.outcomes) <= {"OK", *overload.REFUSED}
    assert seen.during.good
    assert not seen.after.failed


@pytest.mark.parametrize("times", [60, pytest.param(10_000, marks=slow)])
def test_company_changes_no_answer(model, times):
    seen = cobatching.measure(model, reports(), times=times)
    assert not seen.unequal
    assert seen.rows > 2 * seen.batches
