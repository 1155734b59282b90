"""`tfattn features`: from a file of texts to a file of vectors, and errors."""

import io
import json

import numpy as np
import pytest

from tests.pretrained.exports import write_export

TEXTS = ["the man", "天气", "", "the man went to the store , to the store , to the store , to the store ."]


@pytest.fixture(autouse=True)
def inside(bert, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_export(tmp_path / "saved_models/mine/1", bert, words, columns={"text": "Description"})
    write_export(tmp_path / "no_pooler", bert, words, without="pooler")
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "pairs.tsv").write_text("one\tother\nthe man\tthe store\n天\t气\n")
    (tmp_path / "cut.jsonl").write_text('{"text": "the man"}\n{"text": \n')
    (tmp_path / "file").write_text("in the way of a folder")


def test_every_kind_of_file_gives_the_same_vectors(command, tmp_path, monkeypatch):
    (tmp_path / "texts.csv").write_text("id,Description\n" + "".join(f'{n},"{text}"\n' for n, text in enumerate(TEXTS)))
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in TEXTS))
    options = ("--pooling", "mean", "--layers", "-1,-2", "--normalize", "--output", "a.npy")
    found = []
    for arguments in (["texts.txt"], ["texts.csv"], ["texts.jsonl", "--columns", "body"]):
        answer = command("features", "mine", "--input", *arguments, *options)
        assert answer.status == 0, answer.errors
        assert "features: 4 texts; 1 are longer than 16 tokens and were cut" in answer.errors
        found.append(np.load("a.npy"))
        np.testing.assert_array_equal(found[-1], found[0])
    assert found[0].shape == (4, 16)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "texts.txt").read_bytes())))
    answer = command("features", "mine", *options[:-2])
    lines = [json.loads(line)["values"] for line in answer.output.splitlines()]
    np.testing.assert_allclose(lines, found[0], atol=1e-6)


def test_pairs_of_columns_are_read_together(command):
    answer = command("features", "mine", "--input", "pairs.tsv", "--columns", "one,other", "--layers", "-1")
    tokens = [[token["token"] for token in json.loads(line)["features"]] for line in answer.output.splitlines()]
    assert tokens == [
        ["[CLS]", "the", "man", "[SEP]", "the", "store", "[SEP]"],
        ["[CLS]", "天", "[SEP]", "气", "[SEP]"],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["mien"],
            "there is no such model: .* an export in saved_models/: mine, received 'mien'. Did you mean `mine`?",
        ),
        (["minil"], "Did you mean `minilm`?"),
        (
            ["mine", "--layers", "-9"],
            "no such layer: expected some of -1, the top, to -4, the embeddings, received -9",
        ),
        (["no_pooler", "--pooling", "pooler"], "2 of 43 tensors are missing: expected pooler/dense/kernel"),
        (["mine", "--input", "empty.txt"], "empty.txt: the file is empty"),
        (["mine", "--input", "nowhere.txt"], "nowhere.txt: cannot read the inputs"),
        (["mine", "--input", "cut.jsonl"], "cut.jsonl:2: the row is not JSON"),
        (
            ["mine", "--input", "pairs.tsv"],
            "pairs.tsv:1: there is no column for the input `text`: expected Description",
        ),
        (["mine", "--input", "pairs.tsv", "--columns", "a,b,c"], "too many columns of texts"),
        (["mine", "--output", "a.txt"], "a.txt: unknown file format: expected one of .jsonl, .npy"),
        (["mine", "--output", "a.npy"], "`--pooling mean` makes one vector per text"),
        (["mine", "--output", "file/a.jsonl"], "file/a.jsonl: cannot write here"),
        (["mine", "--max-length", "17"], "the maximum of the encoder: expected at most 16, received 17"),
    ],
)
def test_errors_are_a_single_line_and_nothing_is_written(command, tmp_path, arguments, message):
    before = sorted(tmp_path.rglob("*"))
    usual = {"--input": "texts.txt", "--output": "a.jsonl"}
    answer = command("features", *arguments, *(w for one in usual.items() if one[0] not in arguments for w in one))
    assert answer.status in (1, 2)
    (line,) = [line for line in answer.errors.splitlines() if line.startswith("error: ")]
    for part in message.split(".*"):
        assert part in line
    assert "Traceback" not in answer.errors
    assert sorted(tmp_path.rglob("*")) == before


def test_invalid_layers_are_refused(command):
    answer = command("features", "mine", "--input", "texts.txt", "--layers", "top")
    assert answer.status == 2 and "expected integers separated by commas" in answer.errors
