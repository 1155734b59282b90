"""Whatever is sent: the server lives, says whose fault it was, and answers the next good request."""

import pytest

from benchmarks.serving import fuzz
from benchmarks.serving.exports import Export, reports
from benchmarks.serving.probes import SLOW_SECONDS
from benchmarks.serving.running import running


@pytest.mark.parametrize(("rest", "rpc"), [(500, 150), pytest.param(20_000, 5_000, marks=pytest.mark.slow)])
def test_malformed_requests_do_no_harm(models, tmp_path, rest, rpc):
    export = Export(models / "reports/10", tmp_path)
    with running(export.folder, slow_client_seconds=SLOW_SECONDS) as server:
        findings = fuzz.attack(server, "reports", reports(), rest=rest, rpc=rpc)
    assert not findings.faults, "\n".join(findings.faults[:10])
    assert findings.checks == -(-(rest + rpc) // fuzz.CHECK_EVERY)
    assert findings.outcomes["REST 400"] > findings.outcomes["REST 200"] > 0
    assert findings.outcomes["gRPC INVALID_ARGUMENT"] > findings.outcomes["gRPC OK"] > 0
