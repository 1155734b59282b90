"""Commands of word vectors: output, files and errors."""

import numpy as np
import pytest

from tests.vectors.word_exports import write_export
from tfattn.errors import ConfigError
from tfattn.vectors import word_files
from tfattn.vectors.commands import parse_sum
from tfattn.vectors.word_vectors import WordVectors

WORDS = ["man", "woman", "king", "queen", "prince", "rain"]
VECTORS = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0.1, 1], [-1, 0, 0]], "float32")


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    word_files.write("words.txt", WordVectors(WORDS, VECTORS))
    write_export(tmp_path / "saved_models/words/7", WORDS, VECTORS, counts=[9, 8, 7, 6, 5, 4])
    (tmp_path / "pairs.csv").write_text("man,woman,7\nking,prince,9\nman,rain,1\nman,elephant,2\n")
    (tmp_path / "questions.txt").write_text(": royal\nman king woman queen\nman king woman rain\n: gram1\nman a b c\n")
    (tmp_path / "cut.txt").write_text("2 2\na 1 2\nb 1")


@pytest.mark.parametrize("model", ["words.txt", "words", "saved_models/words", "saved_models/words/7"])
def test_a_model_is_a_file_or_an_export(command, model):
    answer = command("neighbors", model, "king", "--k", "2")
    assert answer.status == 0, answer.errors
    assert answer.output == "0.9975  prince\n0.8165  queen\n"


def test_neighbors_of_several_words(command):
    lines = command("neighbors", "words.txt", "king", "rain", "--k", "1").output.splitlines()
    assert lines == ["king", "0.9975  prince", "rain", "-0.5774  queen"]


def test_an_analogy_is_a_sum(command):
    assert command("analogy", "words.txt", "king", "-", "man", "+", "woman", "--k", "1").output.endswith("  queen\n")
    assert command("analogy", "words.txt", "king", "--k", "1").output == "0.9975  prince\n"


def test_sums():
    assert parse_sum(["a"]) == (["a"], [])
    assert parse_sum(["-", "a", "+", "b", "-", "c"]) == (["b"], ["a", "c"])
    for words in (["a", "b"], ["a", "+"], ["a", "+", "+"], ["+"], ["a", "*", "b"]):
        with pytest.raises(ConfigError, match="this is not a sum of words: expected .* king - man"):
            parse_sum(words)


def test_measures(command):
    answer = command("word-similarity", "words.txt", "pairs.csv", "pairs.csv")
    assert answer.output == "pairs.csv: Spearman 1.0000, Pearson 0.9942, 3 of 4 pairs covered\n" * 2, answer.output
    lines = command("word-analogies", "words", "questions.txt").output.splitlines()
    assert lines == [
        "0.5000  royal: 1 of 2, 2 questions",
        "0.0000  gram1: 0 of 0, 1 questions",
        "0.5000  semantic: 1 of 2, 2 questions",
        "0.0000  syntactic: 0 of 0, 1 questions",
        "0.5000  total: 1 of 2, 3 questions",
    ]
    lines = command("word-analogies", "words", "questions.txt", "--most-frequent", "4").output.splitlines()
    assert lines[-1] == "1.0000  total: 1 of 1, 3 questions"


def test_vectors_are_written_in_other_formats(command, tmp_path):
    for output in ("out.bin", "out.vec"):
        answer = command("vectors", "words", output)
        assert f"vectors: 6 words of 3 numbers: {output}" in answer.errors
        found = word_files.read(tmp_path / output)
        assert found.words == WORDS
        np.testing.assert_array_equal(found.vectors, VECTORS)
    assert command("vectors", "words", "projector").status == 0
    assert (tmp_path / "projector/metadata.tsv").read_text().splitlines()[:2] == ["word\tcount", "man\t9"]


def test_a_map_is_drawn(command, tmp_path):
    assert command("word-map", "words", *WORDS, "--output", "map.svg").status == 0
    assert (tmp_path / "map.svg").read_text().count("<text") == len(WORDS) + 2
    assert command("word-map", "words", *WORDS).status == 0
    assert (tmp_path / "word_map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["neighbors", "words.txt", "quen"], "received 'quen'. Did you mean `queen`?"),
        (["neighbors", "word", "king"], "an export in saved_models/: words, received 'word'. Did"),
        (["neighbors", "cut.txt", "a"], "cut.txt:3: the last line has no end: the file was cut off"),
        (["analogy", "words.txt", "king", "man"], "this is not a sum of words: .* received king man"),
        (["word-similarity", "words.txt", "questions.txt"], "questions.txt:2: the line is not a pair of words"),
        (["word-analogies", "words.txt", "pairs.csv"], "pairs.csv:1: the line is not a question"),
        (["vectors", "words.txt", "out.npy"], "out.npy: unknown file format"),
        (["vectors", "words.txt", "saved_models"], "saved_models: the path exists and is no projector"),
        (["word-map", "words.txt", "king", "queen"], "too few words for a map"),
        (["word-map", "words.txt", *WORDS, "--output", "map.gif"], "map.gif: unknown file format"),
    ],
)
def test_errors_are_a_single_line_and_nothing_is_written(command, tmp_path, arguments, message):
    before = sorted(tmp_path.rglob("*"))
    answer = command(*arguments)
    assert answer.status in (1, 2) and not answer.output
    (line,) = [line for line in answer.errors.splitlines() if line.startswith("error: ")]
    for part in message.split(".*"):
        assert part in line
    assert sorted(tmp_path.rglob("*")) == before


def test_invalid_exports_are_refused(command, tmp_path):
    write_export(tmp_path / "saved_models/other/1", WORDS, VECTORS, tensor="embedding")
    write_export(tmp_path / "saved_models/uneven/1", WORDS[:4], VECTORS)
    for model, message in {
        "other": "the export has no word vectors",
        "uneven": "the words and vectors of the export do not match: expected a vector for each of 4 words",
    }.items():
        answer = command("neighbors", model, "king")
        assert answer.status == 1 and message in answer.errors
    (tmp_path / "saved_models/words/7/assets/vocabulary.tsv").unlink()
    assert "vocabulary.tsv: the file is missing" in command("neighbors", "words", "king").errors
