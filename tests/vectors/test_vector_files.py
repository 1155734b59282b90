"""Files of vectors: the lines of extract_features.py, and NumPy arrays."""

import json

import numpy as np
import pytest

from tfattn.errors import ConfigError
from tfattn.vectors import vector_files
from tfattn.vectors.text_encoder import TextVectors

DRAW = np.random.default_rng(0)
OF_TEXTS = [TextVectors(["[CLS]", "[SEP]"], DRAW.normal(size=6).astype("float32"), number == 4) for number in range(12)]


def of_tokens(*tokens: str, layers: int = 2) -> TextVectors:
    return TextVectors([*tokens], DRAW.normal(size=(len(tokens), layers, 3)).astype("float32"), False)


def test_lines_equal_extract_features(tmp_path):
    vectors = [of_tokens("[CLS]", "天", "##s", "[SEP]"), of_tokens("[CLS]", "[SEP]")]
    vector_files.write(str(tmp_path / "a.jsonl"), vectors, (-1, -4))
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [line["linex_index"] for line in lines] == [0, 1]
    for line, one in zip(lines, vectors, strict=True):
        assert line.keys() == {"linex_index", "features"}
        assert [token["token"] for token in line["features"]] == one.tokens
        for token, values in zip(line["features"], one.values, strict=True):
            assert token.keys() == {"token", "layers"}
            assert [layer["index"] for layer in token["layers"]] == [-1, -4]
            for layer, expected in zip(token["layers"], values, strict=True):
                assert layer.keys() == {"index", "values"}
                assert layer["values"] == [round(float(number), 6) for number in expected]


def test_an_array_equals_json_lines(tmp_path):
    for name in ("a.jsonl", "a.npy"):
        written = vector_files.write(str(tmp_path / name), iter(OF_TEXTS), (-1, -2))
        assert (written.texts, written.truncated) == (12, 1)
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    array = np.load(tmp_path / "a.npy", allow_pickle=False)
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, [one.values for one in OF_TEXTS])
    np.testing.assert_array_equal([line["values"] for line in lines], np.round(array.astype("float64"), 6))
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy", mmap_mode="r")[3:5], array[3:5])


def test_standard_output_is_lines(capsys):
    vector_files.write("-", OF_TEXTS[:2], (-1,))
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["linex_index"] == 0 and len(second["values"]) == 6


@pytest.mark.parametrize("name", ["a.jsonl", "a.npy"])
def test_files_are_replaced_atomically(tmp_path, name):
    def broken():
        yield OF_TEXTS[0]
        raise ConfigError("broken")

    (tmp_path / name).write_text("before")
    with pytest.raises(ConfigError, match="broken"):
        vector_files.write(str(tmp_path / name), broken(), (-1,))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "before"


def test_unsupported_output_files_are_refused():
    for output in ("a.jsonl", "A.JSONL", "-"):
        vector_files.check(output, "none")
    vector_files.check("a.npy", "mean")
    with pytest.raises(ConfigError, match="a.npy: .* fill no array.*`--pooling mean` makes one"):
        vector_files.check("a.npy", "none")
    with pytest.raises(ConfigError, match=r"a.h5: unknown file format: expected one of .jsonl, .npy"):
        vector_files.check("a.h5", "mean")
