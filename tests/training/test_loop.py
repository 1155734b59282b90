"""The step: the batch decides its result, not its division; and a number that is not finite changes nothing."""

import keras
import numpy as np
import pytest

from tfattn.errors import TrainingError
from tfattn.training import loop as loops
from tfattn.training.loop import RECORD, Counters, Loop
from tfattn.training.optimizers import AdamW, Sgd
from tfattn.training.runtime import Runtime
from tfattn.training.schedules import Constant


@pytest.fixture
def make(tiny, data, runtime):
    """Builds task, loop and the batches of an epoch, always from the same weights."""

    def build(*, optimizer=None, accumulation=1, clip_norm=None, on=runtime, batch_size=8, **options):
        keras.utils.set_random_seed(7)
        with on.scope():
            task = tiny.BagOfTokens(**options)
        optimizer = optimizer or Sgd(learning_rate=0.1)
        optimizer.build([variable.value for variable in task.trainable_weights], [1.0] * 5)
        loop = Loop(
            task,
            optimizer,
            on,
            schedule=Constant(warmup=0),
            averaging=None,
            total_steps=100,
            accumulation=accumulation,
            clip_norm=clip_norm,
            seed=3,
        )
        reader = tiny.read(data, "train", batch_size=batch_size)
        return task, loop, lambda start=0: iter(on.read(reader, 0, start=start, accumulation=accumulation))

    return build


def weights(task):
    return {variable.path: np.array(variable) for variable in task.trainable_weights}


def column(call, name):
    return call.records[:, RECORD.index(name)]


def assert_close(left, right, atol=1e-6):
    for name, value in left.items():
        np.testing.assert_allclose(right[name], value, atol=atol, err_msg=name)


def test_steps_lower_the_loss_and_are_counted(make):
    task, loop, batches = make(optimizer=AdamW(learning_rate=0.01))
    call = loop(batches(), Counters(), limit=7, stop=False)
    assert call.counters.step == call.counters.updates == len(call.records) == 7
    assert column(call, "loss")[-1] < column(call, "loss")[0]
    assert column(call, "examples").sum() == 53
    assert 3 * 53 < column(call, "tokens").sum() < 13 * 53
    assert not call.stopped
    assert not call.fatal


def test_the_loss_of_a_step_is_the_mean_over_the_real_rows(make):
    # 53 rows in batches of 8: one has 5 rows, which accumulation fills up to 8.
    short = next(number for number, batch in enumerate(make()[2]()) if len(batch["row_ids"]) == 5)
    values = []
    for accumulation in (1, 4):
        task, loop, batches = make(accumulation=accumulation)
        call = loop(batches(short), Counters(), limit=1, stop=False)
        assert column(call, "weight")[0] == column(call, "examples")[0] == 5
        values.append((column(call, "loss")[0], column(call, "gradient_norm")[0]))
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.parametrize("clip_norm", [None, 0.3])
def test_micro_batches_equal_the_whole_batch(make, clip_norm):
    trained = []
    for accumulation in (1, 2, 4):
        task, loop, batches = make(accumulation=accumulation, clip_norm=clip_norm)
        loop(batches(), Counters(), limit=7, stop=False)
        trained.append(weights(task))
    assert_close(trained[0], trained[1])
    assert_close(trained[0], trained[2])


def test_a_clipped_step_is_as_long_as_the_norm_allows(make):
    task, loop, batches = make(optimizer=Sgd(learning_rate=1.0, momentum=0.0), clip_norm=0.01, huge=100.0)
    before = weights(task)
    call = loop(batches(), Counters(), limit=1, stop=False)
    change = np.sqrt(sum(np.sum((value - before[name]) ** 2) for name, value in weights(task).items()))
    assert column(call, "gradient_norm")[0] > 1
    assert change == pytest.approx(0.01, rel=1e-3)


def test_a_weight_that_the_loss_does_not_reach_stays(make):
    task, loop, batches = make(optimizer=AdamW(learning_rate=0.1, weight_decay=0.5))
    before = weights(task)
    loop(batches(), Counters(), limit=3, stop=False)
    after = weights(task)
    np.testing.assert_array_equal(after["unused/kernel"], before["unused/kernel"])
    assert np.all(after["head/kernel"] != before["head/kernel"])


def test_dropout_depends_on_the_step_and_on_nothing_before_it(make):
    task, loop, batches = make(dropout=0.5)
    whole = loop(batches(), Counters(), limit=7, stop=False)
    at_once = weights(task)
    task, loop, batches = make(dropout=0.5)
    first = loop(batches(), Counters(), limit=3, stop=False)
    rest = loop(batches(3), first.counters, limit=4, stop=False)
    np.testing.assert_array_equal(np.concatenate([first.records, rest.records]), whole.records)
    for name, value in weights(task).items():
        np.testing.assert_array_equal(value, at_once[name])
    task, loop, batches = make(dropout=0.5)
    later = loop(batches(), Counters(step=50), limit=1, stop=False)
    assert column(later, "loss")[0] != column(whole, "loss")[0]


def test_a_loss_that_is_not_finite_ends_the_call_and_changes_nothing(make, tiny):
    poison = next(iter(make()[2](2)))["token_ids"].numpy()[0, 0]
    task, loop, batches = make(poison=int(poison))
    call = loop(batches(), Counters(), limit=7, stop=False)
    steps = len(call.records)
    assert call.fatal
    assert steps <= 3
    assert np.isnan(column(call, "loss")[-1])
    other, clean_loop, batches = make()
    if steps > 1:
        clean_loop(batches(), Counters(), limit=steps - 1, stop=False)
    assert_close(weights(other), weights(task), atol=0)


def test_a_call_ends_when_asked_to_stop_or_when_its_time_is_over(make, monkeypatch):
    task, loop, batches = make()
    call = loop(batches(), Counters(), limit=7, stop=True)
    assert call.stopped
    assert len(call.records) == 1
    monkeypatch.setattr(loops, "SECONDS_PER_CALL", -1.0)
    task, loop, batches = make()
    assert len(loop(batches(), Counters(), limit=7, stop=False).records) == 1


def test_float16_halves_its_scale_on_overflow_and_doubles_it_after_good_steps(make, monkeypatch):
    monkeypatch.setattr(loops, "GOOD_STEPS", 3)
    half = Runtime(precision="float16", strategy="one_device").start()
    task, loop, batches = make(on=half, huge=1e4)
    before = weights(task)
    call = loop(batches(), Counters(loss_scale=2.0**24), limit=1, stop=False)
    assert (call.counters.loss_scale, call.counters.updates, call.counters.step) == (2.0**23, 0, 1)
    assert not call.fatal
    assert_close(before, weights(task), atol=0)
    task, loop, batches = make(on=half)
    call = loop(batches(), Counters(loss_scale=8.0), limit=7, stop=False)
    assert (call.counters.loss_scale, call.counters.good_steps, call.counters.updates) == (32.0, 1, 7)


def test_float16_trains_as_float32_nearly_does(make):
    results = []
    for precision in ("float32", "float16", "bfloat16"):
        task, loop, batches = make(on=Runtime(precision=precision, strategy="one_device").start())
        results.append(loop(batches(), Counters(), limit=7, stop=False))
        assert all(value.dtype == np.float32 for value in weights(task).values())
    for result in results[1:]:
        np.testing.assert_allclose(column(result, "loss"), column(results[0], "loss"), rtol=0.02)


def test_a_layer_that_keeps_statistics_of_batches_is_refused(make):
    task, loop, batches = make()
    norm = keras.layers.BatchNormalization(name="statistics")
    norm.build((None, 8))
    head = task.head
    task.head = lambda x: head(norm(x, training=True))
    loop.fixed = [norm.moving_mean, norm.moving_variance]
    with pytest.raises(TrainingError, match="statistics/moving_mean.*not trained"):
        loop(batches(), Counters(), limit=1, stop=False)
