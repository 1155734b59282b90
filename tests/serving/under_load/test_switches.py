"""New versions under steady load: no request fails."""

import pytest

from benchmarks.serving.load import MAX_SECONDS, Answers, Load, rest_request, rpc_request
from benchmarks.serving.running import wait_until
from benchmarks.serving.switches import switch

pytestmark = pytest.mark.alone

RATE = 50  # requests a second over each protocol
REQUESTS = ":tensorflow:serving:request_count"


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_new_version_fails_no_request(server, changing, texts, times):
    before = server.figure(REQUESTS)
    loads = [
        Load(address, [make(changing.name, [text]) for text in texts], seconds=MAX_SECONDS, rate=RATE)
        for address, make in ((server.rest, rest_request), (server.grpc, rpc_request))
    ]
    wait_until(lambda: server.figure(REQUESTS) - before >= 2 * RATE)
    switched = [switch(server, changing, remove=number % 2 == 1) for number in range(times)]
    answers = Answers(sorted(answer for load in loads for answer in load.end()))
    assert not answers.failed, answers.outcomes
    assert all(answers.between(*moments) for moments in switched)
