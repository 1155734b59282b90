"""Five times more requests than the server can answer: it refuses, answers whom it can, and is well again."""

from collections.abc import Sequence

import pytest
import tensorflow as tf

from benchmarks.serving.load import Answers, Load, rpc_request
from benchmarks.serving.running import Running, wait_until

pytestmark = pytest.mark.alone

FACTOR = 5
ROWS = 16  # a request: so that the load client, too, can keep up
DEADLINE = 1.0
GENTLE_SECONDS = 1.5  # in which capacity is measured, and that somebody asks afterwards
REFUSED = ("UNAVAILABLE", "RESOURCE_EXHAUSTED")


class Thorough(tf.Module):
    """Takes some milliseconds for each row, so that a load client is not what gives in first."""

    def __init__(self):
        super().__init__()
        self.weights = tf.eye(512)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def answer(self, text):
        state = tf.ones([tf.size(text), 512])
        for _ in tf.range(1000):
            state = tf.matmul(state, self.weights)
        scores = state[:, :2]
        return {"label": tf.fill([tf.size(text)], "Leak"), "scores": scores}


@pytest.mark.parametrize("seconds", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_too_much_is_refused_and_what_follows_is_answered(server, served, texts, seconds):
    if not (served / "thorough").exists():
        module = Thorough()
        tf.saved_model.save(module, str(served / "thorough/1"), signatures=module.answer)
    wait_until(lambda: server.is_available("thorough"))
    during, after = overloaded(server, "thorough", texts, seconds=seconds)
    refused = [answer for answer in during if answer.outcome in REFUSED]
    assert refused
    assert during.good
    assert len(during.good) + len(refused) >= 0.75 * len(during)  # and few that were answered too late
    assert after[-1].outcome == "OK"


def overloaded(server: Running, name: str, texts: Sequence[str], *, seconds: float) -> tuple[Answers, Answers]:
    """What clients saw during an overload of so many seconds, and what others saw after it."""
    whole = [texts[first : first + ROWS] for first in range(0, len(texts) - ROWS + 1, ROWS)]
    large, small = [rpc_request(name, rows) for rows in whole], [rpc_request(name, [text]) for text in texts]
    capacity = Load(server.grpc, large, seconds=GENTLE_SECONDS, clients=16).answers().rate
    during = Load(server.grpc, large, seconds=seconds, rate=FACTOR * capacity, timeout=DEADLINE).answers()
    return during, Load(server.grpc, small, seconds=GENTLE_SECONDS, clients=1).answers()
