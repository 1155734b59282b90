"""The model card states what an export is, and hostile names stay text in Markdown and YAML."""

import ast
import json
import re
import shlex

import pytest
import yaml

from tests.formats.test_markdown import HOSTILE, Page
from tfattn.trained import model_card, request_examples

LABELS = ["Leak", *HOSTILE]
TEXT = 'It\'s the "机械" pump:\ncoolant ``` `id` $HOME --- | x'
CONFIG = {
    "name": "reports",
    "data": {"preprocessing": {"name": "wordpiece"}},
    "model": {"name": "bert", "pretrained": "minilm"},
    "task": {"name": "classification"},
}
CARD = {
    "inputs": {"text": {"kind": "text", "column": "Description | ```", "max_tokens": 16}},
    "examples": [{"text": TEXT}],
    "metrics": {"accuracy": 0.9, "accuracy_low": 0.85, "accuracy_high": 0.95, "baseline_accuracy": 0.25},
    "measured_on": "test",
    "trained_baseline": {
        "trained_baseline_accuracy": 0.8,
        "better_than_trained_baseline": 0.1,
        "better_than_trained_baseline_low": 0.02,
        "better_than_trained_baseline_high": 0.18,
    },
    "warnings": [f"It never predicts “{label}”." for label in HOSTILE],
    "data": {
        "rows": {"train": 1200, "validation": 300, "test": 300},
        "sources": {"source": {"path": "data/--- `reports`.csv", "sha256": "ab" * 32}},
    },
    "pretrained": {"teacher": {"from": "hf://a/b@123", "license": "mit", "sha256": {}}},
}
STATISTICS = {
    "rows": 1200,
    "inputs": {
        "text": {"kind": "length", "bins": [10.0, 20.0, 45.0], "counts": [1, 2, 3, 4], "missing": 0},
        "| x": {"kind": "category", "bins": ["</td>", "b"], "counts": [3, 1, 0], "missing": 2},
    },
    "targets": {"labels": LABELS, "counts": [77] * len(LABELS)},
}


@pytest.fixture
def write(tmp_path):
    """Writes the files of an export: `write(card={...})` replaces keys of card.json."""

    def write(config=CONFIG, card=(), statistics=STATISTICS):
        (tmp_path / "assets.extra").mkdir(exist_ok=True)
        for name, content in {
            "config.yaml": config,
            "card.json": {**CARD, **dict(card)},
            "statistics.json": statistics,
            "parity.json": {"rows": 4, "max_score_difference": 1e-7, "tolerance": 1e-4, "tensorflow": "2.21.0"},
            "source.json": {"columns": {"text": "Description"}, "suffix": ".csv"},
        }.items():
            (tmp_path / "assets.extra" / name).write_text(json.dumps(content))
        return tmp_path

    return write


def header(card: str) -> dict:
    return yaml.safe_load(card[4:].partition("\n---\n")[0])


def body(card: str) -> str:
    return card[4:].partition("\n---\n")[2]


def test_the_header_has_task_licence_and_results_with_intervals(write):
    found = header(model_card.text(write()))
    assert (found["license"], found["library_name"]) == ("apache-2.0", "tfattn")
    assert found["pipeline_tag"] == "text-classification"
    assert found["tags"] == ["tfattn", "tensorflow", "saved-model", "classification"]
    (result,) = found["model-index"][0]["results"]
    assert result["task"] == {"type": "text-classification"}
    assert result["dataset"] == {"name": "--- `reports`", "type": "--- `reports`", "split": "test"}
    metric = {"type": "accuracy", "value": 0.9, "name": "accuracy (95 % interval 0.85 to 0.95)"}
    assert result["metrics"] == [metric]


@pytest.mark.parametrize(
    ("task", "preprocessing", "expected"),
    [
        ("classification", "table", "tabular-classification"),
        ("classification", "images", "image-classification"),
        ("regression", "table", "tabular-regression"),
        ("regression", "wordpiece", "text-classification"),
        ("regression", "images", None),
        ("chat", "byte_bpe", "text-generation"),
        ("mine", "wordpiece", None),
    ],
)
def test_the_task_has_the_name_of_the_hub(task, preprocessing, expected, write):
    config = {**CONFIG, "task": {"name": task}, "data": {"preprocessing": {"name": preprocessing}}}
    assert header(model_card.text(write(config))).get("pipeline_tag") == expected


def test_every_task_has_a_purpose():
    from tfattn.catalog import CATALOGS
    from tfattn.trained.export_files import PURPOSES

    assert set(PURPOSES) == set(CATALOGS["tasks"])


def test_the_card_states_data_metrics_limits_licences_and_the_check(write):
    card = body(model_card.text(write()))
    for text in (
        "The model predicts the label of a text.",
        "| accuracy | 0.9 | 0.85 to 0.95 | 0.25 |",
        "has accuracy 0.8. The model is better: the difference is 0.1 (95 % interval 0.02 to 0.18).",
        f"- ``data/--- `reports`.csv``, SHA-256 {'ab' * 32}\n",
        "- train rows: 1,200\n- validation rows: 300\n- test rows: 300\n",
        "up to 16 tokens; longer texts are truncated",
        "from 10 to 45 for most rows, median 20",
        "- the model started from `minilm`; the licence of these weights is apache-2.0\n",
        "- teacher: `hf://a/b@123`; the licence of these weights is mit\n",
        "TensorFlow 2.21.0",
        "rows 4, max score difference 1e-07, tolerance 0.0001",
        '"pretrained": "minilm"',
    ):
        assert text in card, text


def test_hostile_labels_columns_and_texts_stay_text(write):
    card = model_card.text(write())
    page = Page(body(card))
    titles = ("Use", "Inputs", "Labels", "Metrics", "Training data", "Limitations", "Pretrained weights", "Check")
    assert page.of("h2") == [*titles, "Configuration"]
    plain = [" ".join(label.split()) for label in LABELS]
    cells = page.of("td")
    for number, label in enumerate(plain):
        start = cells.index(str(number))
        assert cells[start : start + 3] == [str(number), label, "77"]
    for label in plain[1:]:
        assert f"It never predicts “{label}”." in page.of("li")
    allowed = {"h1", "h2", "p", "ul", "li", "pre", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert {tag for tag, _ in page.texts} <= allowed


def test_the_examples_have_the_values_of_a_row(write):
    page = Page(body(model_card.text(write())))
    shell, python, *_ = page.of("code")
    line = shell[shell.index("curl") : shell.index("\ntfattn predict")]
    words = shlex.split(line)
    assert words[:2] == ["curl", "-d"] and json.loads(words[2]) == {"instances": [TEXT]}
    assert words[3] == "http://127.0.0.1:8501/v1/models/reports:predict"
    call = ast.parse(python).body[-1].value
    assert ast.literal_eval(call.args[0]) == [{"text": TEXT}]
    assert "tfattn predict reports --input rows.csv" in shell


def test_rows_without_missing_values_are_preferred():
    inputs = {"a": {}, "b": {}}
    rows = [{"a": None, "b": "x"}, {"a": 2.5, "b": "y", "other": 1}]
    assert request_examples.example_row(inputs, rows) == {"a": 2.5, "b": "y"}
    line = request_examples.curl("t", request_examples.example_row(inputs, rows[:1]))
    assert shlex.split(line)[2] == '{"instances": [{"a": NaN, "b": "x"}]}'
    assert request_examples.example_row(inputs, []) is None


def test_an_image_is_read_from_a_file():
    line = request_examples.curl("photos", {"image": {"b64": "AAAA"}})
    assert line.startswith(
        'echo \'{"instances": [{"b64": "\'"$(base64 < image.png | tr -d \'\\n\')"\'"}]}\' | curl -d @-'
    )
    assert "AAAA" not in line


def test_a_language_model_is_asked_for_a_completion(write):
    config = {**CONFIG, "task": {"name": "chat"}}
    card = model_card.text(write(config, card={"examples": [{"text": "Say 'hi'"}]}))
    (line,) = re.findall(r"^curl.*$", card, flags=re.MULTILINE)
    body = json.loads(shlex.split(line)[2])
    assert body == {"model": "reports", "prompt": "Say 'hi'", "max_tokens": 30} and line.endswith("/v1/completions")


def test_an_export_with_a_configuration_alone_has_a_card(tmp_path):
    (tmp_path / "assets.extra").mkdir()
    (tmp_path / "assets.extra/config.yaml").write_text("name: reports\n")
    card = model_card.text(tmp_path)
    assert header(card)["library_name"] == "tfattn"
    assert "The weights were trained from random values." in card and "name: reports" in card


def test_the_hub_reads_the_card(write):
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed (the extra `hub`)")
    path = write() / "README.md"
    path.write_text(model_card.text(path.parent), encoding="utf-8")
    card = hub.ModelCard.load(path)
    assert (card.data.license, card.data.pipeline_tag) == ("apache-2.0", "text-classification")
    (result,) = card.data.eval_results
    assert (result.metric_type, result.metric_value, result.dataset_split) == ("accuracy", 0.9, "test")
    assert "95 % interval" in result.metric_name
