"""Multiple choice: a softmax over the choices of a row, without padding."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.contracts.task import check_task
from tfattn.models.bert import Bert
from tfattn.models.modern_bert import ModernBert
from tfattn.tasks.multiple_choice import MultipleChoice

DRAW = np.random.default_rng(1)
# The second row has 2 choices, the third 3, the others 4; they have 2 to 7 tokens.
LENGTHS = np.where(np.arange(4) < np.array([4, 2, 3, 4])[:, None], DRAW.integers(2, 8, (4, 4)), 0)
REAL = np.arange(8) < LENGTHS[:, :, None]
BATCH = {
    "token_ids": np.where(REAL, DRAW.integers(1, 50, size=REAL.shape), 0).astype("int32"),
    "segment_ids": (REAL & (np.arange(8) > 2)).astype("int32"),
    "padding_mask": REAL,
    "label_ids": np.array([3, 1, 0, 2], "int32"),
    "weights": np.ones(4, "float32"),
}
SIZES = {"vocabulary_size": 50, "hidden_dim": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32}


def chooser(model=Bert, **options):
    encoder = model(**SIZES, initializer_range=0.5)
    return MultipleChoice(model=encoder, **{"dropout": 0.0, **options})


def scores(task, batch):
    return ops.convert_to_numpy(task.predictions(task(batch))["scores"])


@pytest.mark.parametrize(
    ("model", "options"),
    [(Bert, {}), (Bert, {"pooling": "pooler"}), (ModernBert, {"pooling": "cls"}), (Bert, {"encoder": "frozen"})],
)
def test_contract(model, options, tmp_path):
    keras.utils.set_random_seed(1)
    check_task(lambda: chooser(model, **options), BATCH, folder=tmp_path)


def test_probabilities_are_those_of_the_choices_of_a_row():
    found = scores(chooser(), BATCH)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    assert (found[LENGTHS == 0] == 0).all() and (found[LENGTHS > 0] > 0).all()


def test_choices_keep_their_probabilities_in_any_order():
    task, order = chooser(), np.array([2, 0, 3, 1])
    moved = {name: values[:, order] if values.ndim == 3 else values for name, values in BATCH.items()}
    np.testing.assert_allclose(scores(task, moved), scores(task, BATCH)[:, order], rtol=1e-4, atol=1e-5)


def test_the_loss_is_the_cross_entropy_over_the_choices():
    task = chooser()
    outputs = task(BATCH)
    (loss,) = task.loss_terms(outputs, BATCH).values()
    right = scores(task, BATCH)[np.arange(4), BATCH["label_ids"]]
    np.testing.assert_allclose(ops.convert_to_numpy(loss), -np.log(right), rtol=1e-4, atol=1e-5)


def test_graphs_without_static_shapes_give_equal_results():
    import tensorflow as tf

    task = chooser()
    specs = {name: tf.TensorSpec([None] * values.ndim, values.dtype) for name, values in BATCH.items()}
    graph = tf.function(lambda batch: task.predictions(task(batch)), input_signature=[specs], autograph=False)
    found = graph({name: tf.constant(values) for name, values in BATCH.items()})
    np.testing.assert_allclose(found["scores"], scores(task, BATCH), rtol=1e-4, atol=1e-5)


def test_a_frozen_encoder_is_not_trained():
    task = chooser(encoder="frozen")
    assert [weight.path.split("/")[-1] for weight in task.trainable_variables] == ["kernel", "bias"]


def test_a_subclass_may_have_another_backbone():
    class FirstTokens(MultipleChoice):
        def make_backbone(self, model, **options):
            return super().make_backbone(model, **{**options, "pooling": "cls"})

    keras.utils.set_random_seed(0)
    encoder = Bert(**SIZES, initializer_range=0.5)
    first, by_cls = FirstTokens(model=encoder, dropout=0.0), MultipleChoice(model=encoder, pooling="cls", dropout=0.0)
    by_cls.head.set_weights(first.head.get_weights())
    np.testing.assert_allclose(scores(first, BATCH), scores(by_cls, BATCH), atol=1e-6)
