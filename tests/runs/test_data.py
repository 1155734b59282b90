"""Pretrained weights: sizes of the model, vocabulary of the data, and mismatches."""

import json

import pytest

from tests.pretrained import decoders
from tests.runs.published import BERT
from tfattn import pretrained, stages
from tfattn.errors import ConfigError, ConfigProblems

PIPELINE = """\
name: tiny
data:
  source: {name: jsonl, path: rows.jsonl, fields: {text: text, label: label}}
  preprocessing: {name: PREPROCESSOR, vocabulary: pretrained, max_length: 8}
  batching: {batch_size: 4}
  split: {validation: 0.5}
model: {MODEL}
task: {name: TASK}
training: {optimizer: {name: adamw, learning_rate: 1e-3}}
runtime: {precision: float32, strategy: one_device}
"""


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Return a function that opens a run, in a folder with a pretrained BERT and a pretrained GPT-2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"text": "a pump", "label": "x"}\n{"text": "a leak", "label": "y"}\n')
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert/config.json").write_text(json.dumps(BERT))
    (tmp_path / "bert/vocab.txt").write_text("[PAD]\n[UNK]\na\n")
    (tmp_path / "bert/model.safetensors").write_text("")
    decoders.write_gpt2(tmp_path / "gpt2", decoders.random_gpt())

    def open_run(model, preprocessor, task, *overrides):
        text = PIPELINE
        for word, value in {"MODEL": model, "PREPROCESSOR": preprocessor, "TASK": task}.items():
            text = text.replace(word, value)
        (tmp_path / "tiny.yaml").write_text(text)
        return stages.open_run(tmp_path / "tiny.yaml", list(overrides))

    return open_run


def test_a_pretrained_decoder_defines_sizes_and_tokens(opened, tmp_path):
    run = opened("pretrained: gpt2", "byte_bpe", "language_modeling")
    assert run.config.values["model"]["name"] == "gpt" and run.config.values["model"]["hidden_dim"] == 32
    assert run.config.origins["model", "hidden_dim"] == "pretrained gpt2"
    before = run.members[0].prepared.name
    tokens = tmp_path / "gpt2/vocab.json"
    ids = json.loads(tokens.read_text())
    tokens.write_text(json.dumps({**ids, "a": ids["b"], "b": ids["a"]}))
    assert opened("pretrained: gpt2", "byte_bpe", "language_modeling").members[0].prepared.name != before


def test_a_pretrained_decoder_is_fine_tuned_on_chats(opened, tmp_path):
    """Load a file of weights and compute the statistics of the loss on chats."""
    pytest.importorskip("gguf", reason="needs the extra `pretrained`")
    decoders.write_gguf(tmp_path / "tiny.gguf", decoders.random_gpt(**decoders.LLAMA), llama__context_length=64)
    rows = [{"text": f"pump {number}?", "label": "pump"} for number in range(8)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields, length = "data.source.fields={prompt: text, answer: label}", "data.preprocessing.max_length=60"
    run = opened("pretrained: tiny.gguf", "byte_bpe", "chat", fields, length)
    stages.prepare(run)
    (member,) = run.members
    preprocessor = member.preprocessor()
    task = member.task(preprocessor)
    pretrained.open(tmp_path / "tiny.gguf").load_into(task.model)
    statistics = [task.statistics(task(batch), batch) for batch in member.reader("train").dataset(0)]
    assert sum(float(each["num_bytes"]) for each in statistics) == 4 * len("pump")
    answer = ["pump", "<|im_end|>"]
    assert sum(float(each["num_tokens"]) for each in statistics) == 4 * len(answer)
    assert preprocessor.tokens[preprocessor.end_id] == answer[1]


@pytest.mark.parametrize(
    ("model", "published", "of"), [("gpt", "bert", "bert"), ("bert", "gpt2", "gpt")], ids=["to gpt", "to bert"]
)
def test_weights_of_another_model_are_refused(opened, model, published, of):
    problem = "the pretrained weights are of another model"
    message = f"tiny.yaml:7:.*model.pretrained: {problem}: expected weights of a `{model}`, "
    with pytest.raises(ConfigProblems, match=f"{message}received {published}, which is a `{of}`.*set `name: {of}`"):
        opened(f"name: {model}, pretrained: {published}", "byte_bpe", "language_modeling")


@pytest.mark.parametrize(
    ("published", "preprocessor", "task", "heads"),
    [
        ("bert", "wordpiece", "classification", BERT["num_attention_heads"]),
        ("gpt2", "byte_bpe", "language_modeling", 4),
    ],
)
def test_another_number_of_heads_is_refused(opened, published, preprocessor, task, heads):
    message = rf"tiny.yaml:7:.*model.num_heads: .* expected {heads}, the number of {published}, received 1\. Remove"
    with pytest.raises(ConfigProblems, match=message):
        opened(f"pretrained: {published}, num_heads: 1", preprocessor, task)
    run = opened(f"pretrained: {published}, num_heads: {heads}", preprocessor, task)
    assert run.config.values["model"]["num_heads"] == heads


def test_tokens_of_another_kind_are_refused(opened):
    with pytest.raises(ConfigError, match="preprocessing.name: .* uses other tokens: expected wordpiece, .*byte_bpe"):
        opened("name: bert, pretrained: bert", "byte_bpe", "classification")
