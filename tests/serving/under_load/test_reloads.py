"""A hundred new versions, one after the other: no request fails, and the process that answers does not grow."""

import pytest

from benchmarks.serving.exports import Export
from benchmarks.serving.load import Load, rpc_request
from benchmarks.serving.running import running
from benchmarks.serving.switches import switch

pytestmark = pytest.mark.alone

FIRST, RELOADS = 5, 100  # reloads after which everything that stays has been made, and that are held against them
MOST_GROWTH = 5 * 2**20  # bytes


@pytest.mark.slow
def test_a_hundred_reloads_fail_no_request_and_the_process_that_answers_does_not_grow(models, texts, tmp_path):
    export, memory = Export.copied(models / "reports", tmp_path), []
    requests = [rpc_request(export.name, [text]) for text in texts]
    with running(export.folder, poll_seconds=0.2) as server:
        for _ in range(FIRST + RELOADS):
            switch(server, export, remove=True)
            assert not Load(server.grpc, requests, seconds=0.5, clients=4).answers().failed
            memory.append(server.memory)
    assert memory[-1] - memory[FIRST - 1] <= MOST_GROWTH, memory
