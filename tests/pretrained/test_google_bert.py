"""TF1 checkpoints of google-research/bert."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.bert import Bert


@pytest.fixture
def write(folder, config, original):
    def write(*, leave_out=()):
        config(folder, "bert_config.json")
        tensors = {f"bert/{name}": value for name, value in original.items()}
        # What a pre-training run leaves besides: the optimizer's slots, the heads, the step.
        tensors |= {f"{name}/adam_m": value for name, value in tensors.items()}
        tensors |= {"cls/seq_relationship/output_bias": np.zeros(2, "float32"), "global_step": np.int64(7)}
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            for name, value in tensors.items():
                if name not in leave_out:
                    tf.compat.v1.get_variable(name, initializer=value)
            session.run(tf.compat.v1.global_variables_initializer())
            tf.compat.v1.train.Saver().save(session, str(folder / "bert_model.ckpt"))
        return folder

    return write


def test_import(write, tiny, same_weights):
    weights = pretrained.open(write())
    bert = Bert(**weights.sizes())
    report = weights.load_into(bert)
    same_weights(bert, tiny)
    assert (len(report.used), len(report.unused), report.missing) == (39, 41, [])
    assert "global_step" in report.unused


def test_gelu_is_the_tanh_approximation(write):
    sizes = pretrained.open(write()).sizes()
    assert sizes["activation"] == "gelu_approximate"
    assert sizes["layer_norm_epsilon"] == 1e-12


def test_missing_tensor(write):
    weights = pretrained.open(write(leave_out=["bert/embeddings/LayerNorm/gamma"]))
    with pytest.raises(CheckpointError, match="1 of 39 tensors are missing: expected bert/embeddings/LayerNorm/gamma"):
        weights.load_into(Bert(**weights.sizes()))


def test_wrong_shape(write):
    weights = pretrained.open(write())
    bert = Bert(**{**weights.sizes(), "max_sequence_length": 8})
    with pytest.raises(CheckpointError, match=r"bert/embeddings/position_embeddings \(16, 8\) for .* \(8, 8\)"):
        weights.load_into(bert)


@pytest.mark.parametrize("suffix", ["index", "data-00000-of-00001"])
def test_corrupt_weights(write, suffix):
    folder = write()
    weights = pretrained.open(folder)
    bert = Bert(**weights.sizes())
    path = folder / f"bert_model.ckpt.{suffix}"
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(CheckpointError, match="bert_model.ckpt: cannot be read as a TensorFlow checkpoint"):
        weights.load_into(bert)


def test_no_weights(folder, config):
    config(folder, "bert_config.json")
    weights = pretrained.open(folder)
    with pytest.raises(CheckpointError, match="a file is missing: expected bert_model.ckpt.index"):
        weights.load_into(Bert(**weights.sizes()))


def test_other_activations_are_refused(folder, config):
    config(folder, "bert_config.json", hidden_act="swish")
    with pytest.raises(CheckpointError, match="expected hidden_act to be one of gelu, relu, received swish"):
        pretrained.open(folder).sizes()
