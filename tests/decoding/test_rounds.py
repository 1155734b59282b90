"""Compaction of finished rows and growth of the cache change no result."""

import functools

import numpy as np
import pytest
from keras import ops

from tests.decoding.chains import END, START, Recurrent, numbers, only_tensorflow, texts
from tfattn.decoding.beam import beam_search
from tfattn.decoding.greedy import greedy
from tfattn.decoding.rounds import CACHE_BLOCK
from tfattn.decoding.sampling import sample

OPTIONS = {"end_id": END, "max_length": 3 * CACHE_BLOCK, "suppressed_ids": (0, START), "source_length": 30}
SEARCHES = {
    "greedy": greedy,
    "beam": functools.partial(beam_search, num_beams=3, num_results=2, length_penalty=0.6),
    "sampling": functools.partial(sample, seed=5, temperature=[0.5] * 4 + [2.0] * 16, top_k=20),
}
BATCH = 20


class Reader(Recurrent):
    """Keeps all tokens that it has read, and finds its logits from all of them."""

    def first_state(self, sources, num_beams=1, room=0):
        shape = (ops.shape(sources)[0] * num_beams, room)
        return {**super().first_state(sources, num_beams), "read": ops.zeros(shape, dtype="int32")}

    def cached(self, token_ids, index, state):
        positions = ops.arange(ops.shape(state["read"])[1], dtype="int32")
        read = ops.where(positions == index, token_ids[:, None], state["read"])
        weights = ops.where(positions <= index, 1.0 / (1.0 + ops.cast(positions, "float32")), 0.0)
        vectors = ops.take(ops.convert_to_tensor(self.embeddings), read, axis=0) * weights[:, None]
        hidden = ops.tanh(state["hidden"] + ops.sum(vectors, axis=1))
        logits = self.logits(hidden) + 2.5 * ops.one_hot(END, 30)
        return logits, {"hidden": state["hidden"], "read": read}, ops.one_hot(token_ids, 30)


@pytest.fixture(scope="module")
def model():
    return Reader(30, seed=1)


def written(model, kind, sources, **options):
    options = {**OPTIONS, **options}
    room = options.pop("room", 0)
    state = model.first_state(sources, 3 if kind == "beam" else 1, room)
    starts = ops.full(ops.shape(sources)[:1], START, dtype="int32")
    return SEARCHES[kind](model.cached, state, start_ids=starts, **options)


def check_equal(answer, expected):
    answer, expected = numbers(answer), numbers(expected)
    np.testing.assert_array_equal(answer.token_ids, expected.token_ids)
    np.testing.assert_array_equal(answer.lengths, expected.lengths)
    np.testing.assert_allclose(answer.scores, expected.scores, rtol=1e-5)
    np.testing.assert_array_equal(answer.alignment, expected.alignment)


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_cache_has_full_size_if_no_rows_leave(kind, model):
    sources = ops.convert_to_tensor(model.sources(BATCH))
    check_equal(written(model, kind, sources), written(model, kind, sources, room=OPTIONS["max_length"]))


@only_tensorflow
@pytest.mark.parametrize("in_graph", [False, True])
@pytest.mark.parametrize("kind", SEARCHES)
def test_compaction_of_rows_changes_nothing(kind, in_graph, model):
    import tensorflow as tf

    sources, limits = tf.constant(model.sources(BATCH)), tf.constant([0, 5, 3 * CACHE_BLOCK, 3 * CACHE_BLOCK] * 5)
    expected = written(model, kind, sources, length_limit=limits)
    lengths = numbers(expected).lengths
    assert lengths.max() > 2 * CACHE_BLOCK and len(set(lengths.reshape(-1).tolist())) > 3, (
        "texts of one round and of many"
    )

    def write(sources, limits):
        return written(model, kind, sources, length_limit=limits, shrink_batch=True)

    check_equal(tf.function(write, autograph=False)(sources, limits) if in_graph else write(sources, limits), expected)


@only_tensorflow
@pytest.mark.parametrize("kind", SEARCHES)
def test_a_graph_of_any_sizes_accepts_zero_rows(kind, model):
    import tensorflow as tf

    signature = [tf.TensorSpec([None, 5]), tf.TensorSpec([], tf.int32)]
    options = {"temperature": 0.7} if kind == "sampling" else {}

    @tf.function(input_signature=signature, autograph=False)
    def write(sources, max_length):
        return written(model, kind, sources, max_length=max_length, shrink_batch=True, **options)

    for batch, length in ((4, 2 * CACHE_BLOCK + 1), (1, 3), (0, 5)):
        sources = tf.constant(model.sources(4)[:batch])
        answer = write(sources, length)
        assert answer.token_ids.shape[0] == batch and answer.token_ids.shape[-1] == length
        expected = written(model, kind, sources, max_length=length, **options)
        assert texts(answer) == texts(expected)
    graph = write.get_concrete_function().graph.as_graph_def()
    operations = {node.op for function in graph.library.function for node in function.node_def}
    assert not [name for name in operations if name.startswith("Xla") or "PyFunc" in name]


@only_tensorflow
@pytest.mark.parametrize("kind", SEARCHES)
def test_the_batch_shrinks_and_the_cache_grows(kind, model):
    import tensorflow as tf

    seen = []

    def counted(token_ids, index, state):
        seen.append((int(index), *state["read"].shape))
        return model.cached(token_ids, index, state)

    sources = tf.constant(model.sources(BATCH))
    beams = 3 if kind == "beam" else 1
    starts = tf.fill([BATCH], START)
    answer = SEARCHES[kind](
        counted,
        model.first_state(sources, beams),
        start_ids=starts,
        shrink_batch=True,
        **{**OPTIONS, "source_length": None},
    )
    steps, rows, _ = zip(*seen, strict=True)
    assert steps == tuple(range(len(steps)))
    assert rows[0] == BATCH * beams and rows[-1] < rows[0] / 2 and list(rows) == sorted(rows, reverse=True)
    assert all(index < room <= index + CACHE_BLOCK for index, _, room in seen)
    # No row stays long after its end: a step has at most an eighth more than write.
    lengths = numbers(answer).lengths.reshape(BATCH, -1).max(axis=1)
    if kind != "beam":
        for index, num_rows, _ in seen:
            assert num_rows <= np.sum(lengths >= index) * 8 / 7 + 1
