"""New versions under steady load: no request fails."""

import pytest

from benchmarks.serving import switches


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_new_version_fails_no_request(model, texts, times):
    seen = switches.measure(model, texts, switches=times, rate=100, quiet=0.7)
    assert not seen.answers.failed, seen.answers.outcomes
    assert len(seen.windows) == times
    assert seen.during
    assert seen.quiet
