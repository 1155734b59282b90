"""The training loop: counters, the end of calls, and independence of the division into calls."""

import numpy as np

from tfattn.training import loop as loops
from tfattn.training.loop import Counters
from tfattn.training.optimizers import AdamW


def weights(task):
    return {variable.path: np.array(variable) for variable in task.trainable_weights}


def test_steps_lower_the_loss_and_are_counted(make):
    task, loop, batches = make(optimizer=AdamW(learning_rate=0.01))
    call = loop(batches(), Counters(), limit=7, stop=False)
    assert call.counters.step == call.counters.updates == len(call) == 7
    assert call.records["loss"][-1] < call.records["loss"][0]
    assert call.records["examples"].sum() == 53
    assert 3 * 53 < call.records["tokens"].sum() < 13 * 53
    assert not call.stopped
    assert not call.fatal


def test_dropout_depends_only_on_the_step(make):
    task, loop, batches = make(options={"dropout": 0.5})
    whole = loop(batches(), Counters(), limit=7, stop=False)
    at_once = weights(task)
    task, loop, batches = make(options={"dropout": 0.5})
    first = loop(batches(), Counters(), limit=3, stop=False)
    rest = loop(batches(3), first.counters, limit=4, stop=False)
    for name, values in whole.records.items():
        np.testing.assert_array_equal(np.concatenate([first.records[name], rest.records[name]]), values)
    for name, value in weights(task).items():
        np.testing.assert_array_equal(value, at_once[name])
    task, loop, batches = make(options={"dropout": 0.5})
    later = loop(batches(), Counters(step=50), limit=1, stop=False)
    assert later.records["loss"][0] != whole.records["loss"][0]


def test_a_loss_that_is_not_finite_ends_the_call_and_changes_nothing(make, tiny):
    poison = next(iter(make()[2](2)))["token_ids"].numpy()[0, 0]
    task, loop, batches = make(options={"poison": int(poison)})
    call = loop(batches(), Counters(), limit=7, stop=False)
    steps = len(call)
    assert call.fatal
    assert steps <= 3
    assert np.isnan(call.records["loss"][-1])
    other, clean_loop, batches = make()
    if steps > 1:
        clean_loop(batches(), Counters(), limit=steps - 1, stop=False)
    for name, value in weights(other).items():
        np.testing.assert_array_equal(weights(task)[name], value)


def test_a_non_finite_part_of_a_batch_is_the_last(make):
    parts = {"updates": 4, "batch_size": 32}
    batch = next(make(**parts)[2]())
    first, second = batch["token_ids"].numpy()[:2]
    poison = int(min(set(second.ravel()) - set(first.ravel())))
    task, loop, batches = make(**parts, options={"poison": poison})
    call = loop(batches(), Counters(), limit=1, stop=False)
    assert call.fatal
    assert (call.counters.step, call.counters.updates) == (1, 1)
    other, clean_loop, _ = make()
    clean_loop(iter([{name: values[0] for name, values in batch.items()}]), Counters(), limit=1, stop=False)
    for name, value in weights(other).items():
        np.testing.assert_array_equal(weights(task)[name], value)


def test_a_call_ends_after_a_request_or_its_time_limit(make, monkeypatch):
    task, loop, batches = make()
    call = loop(batches(), Counters(), limit=7, stop=True)
    assert call.stopped
    assert len(call) == 1
    monkeypatch.setattr(loops, "SECONDS_PER_CALL", -1.0)
    task, loop, batches = make()
    assert len(loop(batches(), Counters(), limit=7, stop=False)) == 1
