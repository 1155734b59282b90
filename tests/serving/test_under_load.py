"""What must hold while clients keep asking: none of them notices new versions, restarts or each other.

The figures that belong to it are those of `python -m benchmarks.serving`; here, nothing is timed.
"""

import pytest
import tensorflow as tf

from benchmarks.serving import cobatching, overload, reloads, restarts, switches
from benchmarks.serving.exports import Export, reports
from tfattn.export.serving_config import BATCHING, BATCHING_PARAMETERS


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of models with batching parameters in it, as an export leaves one."""
    folder = tmp_path_factory.mktemp("served")
    (folder / BATCHING_PARAMETERS).write_text(BATCHING)
    return folder


@pytest.fixture(scope="module")
def model(models, folder):
    return Export(models / "reports/10", folder).folder


@pytest.fixture(scope="module")
def thorough_model(folder):
    module = Thorough()
    tf.saved_model.save(module, str(folder / "thorough/1"), signatures=module.answer)
    return folder / "thorough"


@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_new_version_fails_no_request(model, times):
    seen = switches.measure(model, reports(), switches=times, rate=100, quiet=0.7)
    assert not seen.answers.failed, seen.answers.outcomes
    assert len(seen.windows) == times
    assert seen.during
    assert seen.quiet


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_restart_loses_no_accepted_request(model, times):
    seen = restarts.measure(model, reports(), restarts=times)
    assert seen.lost == {"REST": 0, "GRPC": 0}
    assert not seen.answers["REST"].lost
    assert seen.statuses == [0] * (times + 1)


@pytest.mark.slow
def test_a_hundred_reloads_fail_no_request_and_the_process_that_answers_does_not_grow(model):
    seen = reloads.measure(model, reports(), reloads=reloads.FIRST + 100)
    assert not seen.failed
    assert seen.growth <= 5


@pytest.mark.parametrize("seconds", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_too_much_is_refused_and_what_follows_is_answered(thorough_model, seconds):
    seen = overload.measure(thorough_model, reports(), seconds=seconds, gentle_seconds=1.5)
    assert seen.refused
    assert seen.during.good
    assert len(seen.during.good) + len(seen.refused) >= 0.9 * len(seen.during)
    assert seen.after[-1].outcome == "OK"


@pytest.mark.parametrize("times", [60, pytest.param(10_000, marks=pytest.mark.slow)])
def test_company_changes_no_answer(model, times):
    seen = cobatching.measure(model, reports(), times=times)
    assert not seen.unequal
    assert seen.batches < 0.9 * seen.requests
