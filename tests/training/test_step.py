"""The training step: independent of the division of a batch; a non-finite number changes nothing."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import TrainingError
from tfattn.training import step as steps
from tfattn.training.loop import Counters
from tfattn.training.optimizers import AdamW, Sgd
from tfattn.training.runtime import Runtime


def weights(task):
    return {variable.path: np.array(variable) for variable in task.trainable_weights}


def assert_close(left, right, atol=1e-6):
    for name, value in left.items():
        np.testing.assert_allclose(right[name], value, atol=atol, err_msg=name)


def test_the_loss_of_a_step_is_the_mean_over_the_real_rows(make):
    # 53 rows in batches of 8: one has 5 rows, which accumulation fills up to 8.
    short = next(number for number, batch in enumerate(make()[2]()) if len(batch["record_ids"]) == 5)
    values = []
    for accumulation in (1, 4):
        task, loop, batches = make(accumulation=accumulation)
        call = loop(batches(short), Counters(), limit=1, stop=False)
        assert call.weights["label"][0] == call.records["examples"][0] == 5
        values.append((call.records["loss"][0], call.records["gradient_norm"][0]))
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


def test_a_loss_over_the_whole_batch_does_not_depend_on_micro_batches(make):
    trained = []
    for accumulation in (1, 2, 4):
        task, loop, batches = make(kind="ComparedRows", accumulation=accumulation, optimizer=Sgd(learning_rate=1.0))
        taken = loop(batches(), Counters(), limit=7, stop=False)
        trained.append({**weights(task), "losses": taken.records["loss"], "norms": taken.records["gradient_norm"]})
    assert_close(trained[0], trained[1], atol=1e-5)
    assert_close(trained[0], trained[2], atol=1e-5)


def test_both_passes_of_micro_batches_have_equal_dropout(make):
    # Without dropout a step of a loss over the whole batch is exact: with it, its gradient must be of one mask.
    task, loop, batches = make(
        kind="ComparedRows", accumulation=2, optimizer=Sgd(learning_rate=1.0, momentum=0.0), options={"dropout": 0.5}
    )
    step, batch = loop.step, next(batches())
    seeds = step._draw_seeds(tf.constant(0, tf.int64), 0, tf.distribute.get_replica_context())
    with tf.GradientTape() as tape:
        halves = []
        for index in (0, 1):
            half = {name: value[index * 4 : index * 4 + 4] for name, value in batch.items()}
            with keras.StatelessScope(list(zip(step.seed_states, [seed[index] for seed in seeds], strict=True))):
                halves.append(task(half, training=True)["logits"])
        whole = {**batch, "logits": tf.concat(halves, axis=0)}
        loss = tf.reduce_mean(task.loss_terms(whole, whole)["label"])
    gradient = tape.gradient(loss, task.head.kernel.value)
    before = weights(task)["head/kernel"]
    taken = loop(batches(), Counters(), limit=1, stop=False)
    assert taken.records["loss"][0] == pytest.approx(float(loss), rel=1e-5)
    np.testing.assert_allclose(before - weights(task)["head/kernel"], gradient, atol=1e-6)


def test_updates_per_batch_equal_smaller_batches(make):
    for kind in ("BagOfTokens", "TwoTerms"):
        alone, loop, batches = make(kind=kind, batch_size=8)
        first = next(batches())
        small = ({name: value[place : place + 4] for name, value in first.items()} for place in (0, 4))
        steps = [loop(iter([batch]), Counters(number), limit=1, stop=False) for number, batch in enumerate(small)]
        together, loop, batches = make(kind=kind, batch_size=8, updates=2)
        taken = loop(batches(), Counters(), limit=1, stop=False)
        assert_close(weights(alone), weights(together))
        assert (taken.counters.step, taken.counters.updates, len(taken)) == (1, 2, 1)
        for name in ("tokens", "examples"):
            assert taken.records[name][0] == sum(step.records[name][0] for step in steps)
        for name, losses in taken.losses.items():
            counts = [step.weights[name][0] for step in steps]
            assert taken.weights[name][0] == sum(counts)
            mean = np.average([step.losses[name][0] for step in steps], weights=counts) if sum(counts) else 0
            assert losses[0] == pytest.approx(mean, rel=1e-5)


def test_sum_reduction_affects_gradients_but_not_reported_losses(make):
    rate = 1e-3
    plain, loop, batches = make(optimizer=Sgd(learning_rate=rate * 8, momentum=0.0))
    expected = loop(batches(), Counters(), limit=1, stop=False).records["loss"][0]
    summing, loop, batches = make(optimizer=Sgd(learning_rate=rate, momentum=0.0))
    summing.sum_reduction = True
    assert loop(batches(), Counters(), limit=1, stop=False).records["loss"][0] == pytest.approx(expected, rel=1e-6)
    assert_close(weights(plain), weights(summing))


def test_the_loss_is_the_sum_of_the_means_of_its_terms(make):
    task, loop, batches = make(kind="TwoTerms", optimizer=Sgd(learning_rate=1.0, momentum=0.0))
    batch = next(batches())
    with tf.GradientTape() as tape:
        terms, counts = task.loss_terms(task(batch), batch), task.loss_weights(batch)
        means = {name: tf.reduce_sum(terms[name] * counts[name]) / tf.reduce_sum(counts[name]) for name in terms}
        expected = tf.add_n(list(means.values()))
    gradient = tape.gradient(expected, task.head.kernel.value)
    before = weights(task)["head/kernel"]
    taken = loop(batches(), Counters(), limit=1, stop=False)
    assert taken.records["loss"][0] == pytest.approx(float(expected), rel=1e-6)
    for name, mean in means.items():
        assert taken.losses[name][0] == pytest.approx(float(mean), rel=1e-6)
        assert taken.weights[name][0] == float(tf.reduce_sum(counts[name]))
    np.testing.assert_allclose(before - weights(task)["head/kernel"], gradient, atol=1e-6)


def test_a_term_may_be_missing_in_a_micro_batch_and_in_a_batch(make):
    trained = []
    for accumulation in (1, 8):  # of the second term a part has one row or none
        task, loop, batches = make(kind="TwoTerms", accumulation=accumulation, batch_size=8)
        taken = loop(batches(), Counters(), limit=7, stop=False)
        trained.append(weights(task))
    assert_close(*trained)
    task, loop, batches = make(kind="TwoTerms", batch_size=1, optimizer=Sgd(learning_rate=1e-3))
    taken = loop(batches(), Counters(), limit=20, stop=False)
    missing = taken.weights["norm"] == 0
    assert missing.any() and not missing.all()
    assert not taken.losses["norm"][missing].any() and np.isfinite(taken.records["loss"]).all()


@pytest.mark.parametrize("accumulation", [1, 4])
def test_sparse_gradients_equal_dense_gradients(make, accumulation):
    trained = []
    for sparse_embeddings in (False, True):
        task, loop, batches = make(
            optimizer=Sgd(learning_rate=0.5, momentum=0.0),
            accumulation=accumulation,
            clip_norm=0.5,
            sparse_embeddings=sparse_embeddings,
        )
        taken = loop(batches(), Counters(), limit=7, stop=False)
        trained.append({**weights(task), "norms": taken.records["gradient_norm"], "last": taken.gradient_norms})
    assert_close(*trained)


def test_with_sparse_embeddings_other_rows_stay(make):
    task, loop, batches = make(optimizer=AdamW(learning_rate=0.1, weight_decay=0.5), sparse_embeddings=True)
    read = np.unique(next(batches())["token_ids"])
    before = weights(task)["embedding/embeddings"]
    loop(batches(), Counters(), limit=1, stop=False)
    changed = np.flatnonzero(np.any(weights(task)["embedding/embeddings"] != before, axis=1))
    assert set(changed) <= set(read) and len(changed) >= len(read) - 1  # padding counts nothing


def test_clipping_limits_the_norm(make):
    task, loop, batches = make(optimizer=Sgd(learning_rate=1.0, momentum=0.0), clip_norm=0.01, options={"huge": 100.0})
    before = weights(task)
    call = loop(batches(), Counters(), limit=1, stop=False)
    change = np.sqrt(sum(np.sum((value - before[name]) ** 2) for name, value in weights(task).items()))
    assert call.records["gradient_norm"][0] > 1
    assert change == pytest.approx(0.01, rel=1e-3)


def test_a_weight_that_the_loss_does_not_reach_stays(make):
    task, loop, batches = make(optimizer=AdamW(learning_rate=0.1, weight_decay=0.5))
    before = weights(task)
    loop(batches(), Counters(), limit=3, stop=False)
    after = weights(task)
    np.testing.assert_array_equal(after["unused/kernel"], before["unused/kernel"])
    assert np.all(after["head/kernel"] != before["head/kernel"])


def test_float16_halves_its_scale_on_overflow_and_doubles_it_after_good_steps(make, monkeypatch):
    monkeypatch.setattr(steps, "GOOD_STEPS", 3)
    half = Runtime(precision="float16", strategy="one_device").start()
    task, loop, batches = make(on=half, options={"huge": 1e4})
    before = weights(task)
    call = loop(batches(), Counters(loss_scale=2.0**24), limit=1, stop=False)
    assert (call.counters.loss_scale, call.counters.updates, call.counters.step) == (2.0**23, 0, 1)
    assert not call.fatal
    assert_close(before, weights(task), atol=0)
    task, loop, batches = make(on=half)
    call = loop(batches(), Counters(loss_scale=8.0), limit=7, stop=False)
    assert (call.counters.loss_scale, call.counters.good_steps, call.counters.updates) == (32.0, 1, 7)


def test_float16_trains_like_float32(make):
    results = []
    for precision in ("float32", "float16", "bfloat16"):
        task, loop, batches = make(on=Runtime(precision=precision, strategy="one_device").start())
        results.append(loop(batches(), Counters(), limit=7, stop=False))
        assert all(value.dtype == np.float32 for value in weights(task).values())
    for result in results[1:]:
        np.testing.assert_allclose(result.records["loss"], results[0].records["loss"], rtol=0.02)


def test_a_layer_with_batch_statistics_is_refused(make):
    task, loop, batches = make()
    norm = keras.layers.BatchNormalization(name="statistics")
    norm.build((None, 8))
    head = task.head
    task.head = lambda x: head(norm(x, training=True))
    loop.step.fixed = [norm.moving_mean, norm.moving_variance]
    with pytest.raises(TrainingError, match="statistics/moving_mean.*not trained"):
        loop(batches(), Counters(), limit=1, stop=False)
