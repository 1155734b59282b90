"""From pairs of texts to translations of an export, by the command line; errors of pairs."""

import json
from pathlib import Path

import numpy as np
import pytest

from tfattn import files
from tfattn.attention.looking import look
from tfattn.serving.client import local

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def inside(reversed_words, monkeypatch):
    monkeypatch.chdir(reversed_words[0])


def test_the_model_learns_to_reverse_and_the_export_equals_it(reversed_words):
    folder, answer = reversed_words
    assert answer.status == 0, answer.errors
    assert files.read_json(folder / "runs/reversal/latest/metrics.json")["exact_match"] > 0.95
    (version,) = (folder / "saved_models/reversal").glob("[0-9]*")
    assert files.read_json(version / "assets.extra/parity.json")["text_agreement"] == 1.0


@pytest.mark.slow
def test_one_minute_of_training_reverses_all_unseen_rows(tmp_path, monkeypatch, command):
    for name in ("configs", "pipelines"):
        Path(tmp_path / name).symlink_to(PROJECT / name)
    monkeypatch.chdir(tmp_path)
    assert command("sample", "reversal", "data/reversal.tsv").status == 0
    assert command("run", "pipelines/reversal.yaml").status == 0
    metrics = files.read_json("runs/reversal/latest/metrics.json")
    assert metrics["exact_match"] == 1.0 and metrics["bleu"] > 99.9


def test_the_report_shows_attention(reversed_words):
    latest = reversed_words[0] / "runs/reversal/latest"
    assert "Attention" in (latest / "report.html").read_text()
    assert (latest / "plots/attention_1.svg").read_text().startswith("<svg ")
    predictions = [json.loads(line) for line in (latest / "predictions.jsonl").read_text().splitlines()]
    right = [row["text"] == " ".join(reversed(row["source"].split())) for row in predictions]
    assert sum(right) > 0.95 * len(right)


def test_lines_are_translated_in_order_and_cut_lines_flagged(inside, command):
    Path("new.txt").write_text("red green blue\n" + "teal " * 40 + "\n")
    answer = command("translate", "reversal", "--input", "new.txt")
    first, second = map(json.loads, answer.output.splitlines())
    assert list(first)[:2] == ["source", "text"] and first["source"] == "red green blue"
    assert first["text"] == "blue green red" and first["length"] == 3 and not first["truncated"]
    assert second["truncated"]


def test_text_output_has_a_line_per_input(inside, command):
    Path("new.txt").write_text("red green blue\n\n  \nblue red gold\n")
    answer = command("translate", "reversal", "--input", "new.txt", "--output", "new.out.txt")
    assert answer.status == 0, answer.errors
    assert Path("new.out.txt").read_text() == "blue green red\n\n\ngold red blue\n"


def test_the_alignment_of_a_pair_is_drawn(inside, command):
    answer = command("attention", "reversal", "--text", "red green blue", "--output", "attention.png")
    assert answer.status == 0, answer.errors
    assert Path("attention.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_shows_encoder_decoder_and_cross_attention(inside):
    views = look("reversal", "red green blue")
    assert [part.name for part in views.parts] == ["encoder", "decoder", "cross", "encoder rollout", "decoder rollout"]
    source, target, written = views.sequences
    assert [text for text, special in zip(source.word_texts, source.special, strict=True) if not special] == [
        "red",
        "green",
        "blue",
    ]
    assert list(written.word_texts)[:3] == ["blue", "green", "red"] and target.special[0] and written.special[-1]
    cross = views.part("cross")
    assert cross.weights.shape[2:] == (len(written), len(source))
    np.testing.assert_allclose(cross.weights.sum(axis=-1), 1.0, atol=1e-5)
    alignment = local.load("reversal").outputs([{"text": "red green blue"}], signature="alignment")["alignment"][0]
    aligning = cross.weights[max(len(cross.weights) - 2, 0)].mean(axis=0)
    np.testing.assert_allclose(aligning[: len(alignment)], alignment, atol=1e-4)


def test_a_target_can_be_given(inside):
    views = look("reversal", "red green blue", target="red blue")
    assert list(views.sequences[2].word_texts)[:2] == ["red", "blue"]


def test_empty_inputs_have_no_picture(inside, command):
    answer = command("attention", "reversal", "--text", " ", "--output", "nothing.png")
    assert answer.status == 1 and "the text is empty" in answer.errors
    assert not Path("nothing.png").exists()


def test_an_unknown_field_names_the_nearest(inside, command):
    answer = command(
        "prepare", "pipelines/reversal.yaml", "--set", "data.source.fields={source: source, targt: target}"
    )
    assert answer.status == 2
    assert "no column is given for `target`" in answer.errors and "Did you mean `targt`" in answer.errors


def test_unsupported_ensembles_are_refused_before_training(inside, command):
    answer = command("train", "pipelines/reversal.yaml", "--set", "ensemble.seeds=3")
    assert answer.status == 2
    assert "ensemble: the task translation does not support ensembles" in answer.errors


def test_incomplete_and_too_long_rows_are_excluded_and_counted(inside, command):
    rows = Path("data/reversal.tsv").read_text().splitlines()
    rows[1:4] = ["red green\t", "\tblue", "red " * 30 + "\tred"]
    Path("data/odd.tsv").write_text("\n".join(rows[:300]) + "\n")
    answer = command("prepare", "pipelines/reversal.yaml", "--set", "data.source.path=data/odd.tsv")
    assert answer.status == 0, answer.errors
    (summary,) = [
        found
        for path in Path("runs/reversal/prepared").glob("[0-9a-f]*/summary.json")
        if "odd.tsv" in json.dumps(found := files.read_json(path))
    ]
    assert summary["missing"]["target"] == {"rows": 1, "first": ["data/odd.tsv:2"]}
    assert summary["missing"]["source"] == {"rows": 1, "first": ["data/odd.tsv:3"]}
    cut = [*summary["left_out"]["first"], *summary["truncated"]["validation"]["first"]]
    assert cut == ["data/odd.tsv:4"]
