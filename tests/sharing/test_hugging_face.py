"""Exports as folders of Hugging Face: what is written is read again, here and by transformers."""

import importlib.util
import json
import re

import numpy as np
import pytest
import tensorflow as tf

from tests.pretrained import decoders
from tests.sharing.exports import BERT, CASES, write_case, write_export
from tfattn import pretrained, registry
from tfattn.errors import ConfigError, ExportError, TfattnError
from tfattn.pretrained import keras_model
from tfattn.sharing import hugging_face
from tfattn.sharing.commands import share
from tfattn.sharing.probes import probe
from tfattn.sharing.trained_export import TrainedExport
from tfattn.trained import model_card

HAS_TRANSFORMERS = all(importlib.util.find_spec(name) for name in ("transformers", "torch"))
CLASSES = {
    "classification": "BertForSequenceClassification",
    "cls": "BertForSequenceClassification",
    "multi_label": "BertForSequenceClassification",
    "regression": "BertForSequenceClassification",
    "multiple_choice": "BertForMultipleChoice",
    "token_classification": "BertForTokenClassification",
    "question_answering": "BertForQuestionAnswering",
    "masked_lm": "BertForMaskedLM",
    "bert_pretraining": "BertForPreTraining",
    "distilbert": "DistilBertForSequenceClassification",
    "mpnet": "MPNetForSequenceClassification",
    "albert": "AlbertForSequenceClassification",
    "electra": "ElectraForSequenceClassification",
    "deberta": "DebertaV2ForSequenceClassification",
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "untied_llama": "LlamaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "neox": "GPTNeoXForCausalLM",
    "deit": "DeiTForImageClassification",
    "dinov2": "Dinov2ForImageClassification",
    "marian": "MarianMTModel",
    "t5": "T5ForConditionalGeneration",
    "vit": "ViTForImageClassification",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write a case once, and return its export and its folder."""
    found = {}

    def write(case):
        if case not in found:
            folder = tmp_path_factory.mktemp(case)
            export = write_case(folder / "saved_models" / case / "1", case)
            found[case] = export, share(str(export), "hugging_face", folder / "hub", folder=folder)
        return found[case]

    return write


@pytest.mark.parametrize("case", CASES)
def test_what_is_written_is_read_with_equal_outputs(case, written):
    path, folder = written(case)
    export, weights = TrainedExport(path), pretrained.open(folder)
    model = registry.find("models", weights.model)(**weights.sizes())
    assert weights.load_into(model, [model.pooler] if hasattr(model, "pooler") else []).missing == []
    inputs = probe(export)
    expected = export.build_task().model(inputs.features)
    for name, value in model(inputs.features).items():
        if name != "pooled_output":  # not of every class
            np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5)
    if inputs.texts:
        tokenizer = keras_model.load(weights).preprocessor
        for (text, *others), ids in zip(inputs.texts, inputs.ids, strict=True):
            assert (
                others or tokenizer({tokenizer.fields[0]: tf.constant([text])})["token_ids"][0].numpy().tolist() == ids
            )


@pytest.mark.parametrize("case", CASES)
def test_transformers_loads_the_class_and_computes_the_same(case, written, capfd):
    _, folder = written(case)
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == [CLASSES[case]]
    card = (folder / "README.md").read_text()
    sentence = re.search(r"## Check\n\n(.*)\n", card).group(1)
    if HAS_TRANSFORMERS:
        assert re.match(r"Compared with transformers [\d.]+, torch .*logits differ by at most", sentence), sentence
    else:
        assert sentence == "Not compared with transformers: transformers and torch not installed."


def test_labels_are_those_of_the_training(written):
    configs = {case: json.loads((written(case)[1] / "config.json").read_text()) for case in CASES}
    assert configs["classification"]["id2label"] == {"0": "Leak", "1": "Noise", "2": "Fire"}
    assert list(configs["token_classification"]["id2label"].values()) == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
    problems = {case: configs[case].get("problem_type") for case in ("multi_label", "regression", "cls")}
    assert problems == {
        "multi_label": "multi_label_classification",
        "regression": "regression",
        "cls": "single_label_classification",
    }


def test_a_chat_has_its_template_and_its_end(written):
    _, folder = written("llama")
    generation = json.loads((folder / "generation_config.json").read_text())
    assert generation["eos_token_id"] == [0, decoders.TOKENS.index("<|im_end|>")]
    assert (generation["do_sample"], generation["temperature"], generation["top_k"]) == (True, 0.7, 50)
    jinja2 = pytest.importorskip("jinja2")
    template = jinja2.Template(json.loads((folder / "tokenizer_config.json").read_text())["chat_template"])
    messages = [{"role": "user", "content": "Hi"}]
    system = '<|im_start|>system\nBe brief, it\'s a "test".<|im_end|>\n'
    prompt = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert template.render(messages=messages, add_generation_prompt=True) == system + prompt
    answered = template.render(messages=[{"role": "system", "content": "Hm"}, *messages])
    assert answered == "<|im_start|>system\nHm<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"


def test_the_card_states_task_labels_metrics_data_and_configuration(written):
    card = (written("classification")[1] / "README.md").read_text()
    for text in (
        "library_name: transformers\npipeline_tag: text-classification\n",
        "# classification\n\nThe model predicts the label of a text. BertForSequenceClassification of transformers.",
        'AutoModelForSequenceClassification.from_pretrained("classification")',
        "| 0 | Leak | 5 |",
        "Measured on the test rows.",
        "| accuracy | 0.75 | 0.5 to 0.9 |  |",
        "- `text` from the column `Description`\n- training rows: 10\n",
        "The weights were trained from random values.",
        '"pooling": "pooler"',
    ):
        assert text in card, text
    assert "bounds its predictions to 0 to 5" in (written("regression")[1] / "README.md").read_text()
    assert "a score of at least 0.3" in (written("multi_label")[1] / "README.md").read_text()


ORIGIN = {"from": "hf://me/tiny@123", "license": "mit", "sha256": {"model.safetensors": "fe4d"}}


@pytest.mark.parametrize(
    ("start", "origin", "expected"),
    [
        ("minilm", {}, ["---\nlicense: apache-2.0\n", "from `minilm`; the licence of these weights is apache-2.0\n"]),
        ("gone", {}, ["the licence of these weights is not stated: look it up before you publish\n"]),
        (
            "hf://me/tiny",
            ORIGIN,
            ["license: mit\nbase_model: me/tiny\n", "`hf://me/tiny@123`; the licence of these weights is mit"],
        ),
        ("hf://me/tiny", ORIGIN, ["- SHA-256 of `model.safetensors`: fe4d"]),
        (None, {}, ["The weights were trained from random values."]),
    ],
)
def test_the_card_states_the_licence_of_the_start(start, origin, expected, tmp_path):
    export = write_case(tmp_path / "1", "masked_lm", model={})
    for path, change in {
        "config.yaml": lambda content: content["model"].update(pretrained=start),
        "card.json": lambda content: content.update(pretrained={"pretrained": origin} if origin else {}),
    }.items():
        content = json.loads((export / "assets.extra" / path).read_text())
        change(content)
        (export / "assets.extra" / path).write_text(json.dumps(content))
    card = model_card.text(export, library="transformers")
    for text in expected:
        assert text in card


def test_the_encoder_alone_is_written_for_other_heads(tmp_path):
    export = write_case(tmp_path / "1", "classification", task={"pooling": "mean"})
    with pytest.raises(
        ExportError,
        match=r"BertForSequenceClassification pools texts in another way.*received pooling: mean\. .*--enco",
    ):
        share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path)
    folder = share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path, encoder_only=True)
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["BertModel"]
    ours, theirs = (keras_model.load(pretrained.open(path)) for path in (export, folder))
    features = ours.preprocess(["The pump leaks."])
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_array_equal(ours.model(features)[name], theirs.model(features)[name])
    assert json.loads((folder / "1_Pooling/config.json").read_text())["pooling_mode_mean_tokens"] is True


def test_an_embedding_is_written_for_sentence_transformers(tmp_path):
    task = {"name": "embedding", "pooling": "mean", "dimensions": [16, 8]}
    export = write_export(tmp_path / "1", "vectors", {"name": "bert", **BERT}, task, {"scored": False})
    folder = share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path)
    modules = json.loads((folder / "modules.json").read_text())
    assert [module["type"].rpartition(".")[2] for module in modules] == ["Transformer", "Pooling", "Normalize"]
    assert json.loads((folder / "1_Pooling/config.json").read_text())["pooling_mode_mean_tokens"] is True
    config = json.loads((folder / "config_sentence_transformers.json").read_text())
    assert config["prompts"] == {"query": "", "document": ""}


@pytest.mark.parametrize(
    ("case", "changes", "message"),
    [
        (
            "classification",
            {"model": {"norm": "pre"}},
            r"settings of a Bert.*received norm: pre \(there post\)\.",
        ),
        (
            "vit",
            {"model": {"normalization": "batch_norm"}},
            r"a ViT.*received normalization: batch_norm \(there layer_norm\)",
        ),
        (
            "gpt2",
            {"model": {"logit_soft_cap": 30.0}},
            r"a GPT2.*received logit_soft_cap: 30.0 \(there None\)",
        ),
        ("llama", {"model": {"qk_norm": True, "norm": "both"}}, r"a Qwen3.*received norm: both \(there pre\)"),
        ("vit", {"model": {"positions": "sinusoidal"}}, r"settings of a ViT.*positions: sinusoidal \(there learned\)"),
        ("classification", {"task": {"pooling": "cls", "pooled_layers": 2}}, "received pooling: cls, pooled_layers: 2"),
    ],
)
def test_models_without_a_counterpart_are_refused(case, changes, message, tmp_path):
    export = write_case(tmp_path / "1", case, **changes)
    with pytest.raises(ExportError, match=message):
        share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1"]


def test_tasks_models_and_tokenizers_without_a_counterpart_are_named(tmp_path):
    targets = {"labels": ["a", "b"], "counts": [1, 1]}
    model = {"name": "bilstm", "embedding_dim": 8, "hidden_dim": 8, "num_layers": 1}
    export = write_export(tmp_path / "1", "x", model, {"name": "classification", "pooling": "cls"}, targets)
    with pytest.raises(
        ExportError, match="no counterpart in transformers: expected one of bert, deberta, gpt, .*vit, received bi"
    ):
        share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path)
    export = write_case(tmp_path / "2", "gpt2")
    config = json.loads((export / "assets.extra/config.yaml").read_text())
    config["task"]["name"] = "word2vec"
    (export / "assets.extra/config.yaml").write_text(json.dumps(config))
    with pytest.raises(ExportError, match="the task has no counterpart.*masked_lm.*received word2vec"):
        share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path)


def test_an_existing_folder_is_kept(written, tmp_path):
    export, _ = written("classification")
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub/mine.txt").write_text("mine")
    for force in (False, True):
        with pytest.raises(ConfigError, match=r"hub: the folder exists already: .* Name another folder with --to\.$"):
            share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path, force=force)
    assert [path.name for path in (tmp_path / "hub").iterdir()] == ["mine.txt"]


def test_a_written_folder_is_replaced_with_force(tmp_path):
    export = write_case(tmp_path / "1", "masked_lm")
    target = share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path)
    with pytest.raises(ConfigError, match="exists already.* Replace it with --force, or"):
        share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path)
    before = target.stat().st_ino
    share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path, force=True)
    assert target.stat().st_ino != before and sorted(path.name for path in tmp_path.iterdir()) == ["1", "hub"]


def test_a_full_disk_leaves_nothing(written, tmp_path, monkeypatch):
    export, _ = written("classification")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hugging_face, "save_file", full)
    with pytest.raises(TfattnError, match="hub: no space left on the disk. Free some space"):
        share(str(export), "hugging_face", tmp_path / "hub", folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_export_suggests_a_name(written, tmp_path):
    export, _ = written("classification")
    with pytest.raises(ConfigError, match="there is no such export.*classification, received 'clasification'. Did you"):
        share("clasification", "hugging_face", None, folder=export.parents[1])
    with pytest.raises(ConfigError, match="there are none yet, received 'x'. Run its pipeline first"):
        share("x", "hugging_face", None, folder=tmp_path)


def test_the_command_writes_a_folder_and_reports_errors(written, tmp_path, command):
    export, _ = written("cls")
    answer = command("export", export, "--format", "hugging_face", "--to", tmp_path / "hub", "--encoder-only")
    assert answer.status == 0 and answer.errors.splitlines()[-1] == f"wrote {tmp_path / 'hub'}", answer.errors
    assert json.loads((tmp_path / "hub/config.json").read_text())["architectures"] == ["BertModel"]
    answer = command("export", export, "--format", "hugging_face", "--to", tmp_path / "hub")
    assert answer.status == 2 and "hub: the folder exists already" in answer.errors
    answer = command("export", "tiny.yaml", "--to", tmp_path / "hub")
    assert answer.status == 2 and "--to needs --format" in answer.errors
