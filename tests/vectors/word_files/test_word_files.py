"""Files of word vectors: round trips with all formats, and refusal of damaged files."""

import gzip
import io
import pickle
import struct
import tracemalloc

import numpy as np
import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.vectors import word_files
from tfattn.vectors.word_files import table
from tfattn.vectors.word_vectors import WordVectors

WORDS = ["the", "Straße", "天气", "New_York", "</s>", "1999", "don't"]
VECTORS = np.random.default_rng(3).normal(size=(len(WORDS), 5)).astype("float32")
VECTORS[0] = [0, -1, 1e-30, 3e12, 1 / 3]


@pytest.fixture
def vectors():
    return WordVectors(WORDS, VECTORS, np.arange(len(WORDS), 0, -1))


def text(rows, *, header="", end="\n"):
    return (header + "".join(f"{word} {' '.join(map(str, row.tolist()))}{end}" for word, row in rows)).encode()


ROWS = [*zip(WORDS, VECTORS, strict=True)]
GLOVE, TEXT, C_TOOL = text(ROWS), text(ROWS, header="7 5\n"), text(ROWS, header="7 5\n", end=" \n")
BINARY = b"7 5\n" + b"".join(word.encode() + b" " + row.tobytes() for word, row in ROWS)
WITH_ENDS = b"7 5\n" + b"".join(word.encode() + b" " + row.tobytes() + b"\n" for word, row in ROWS)


@pytest.fixture
def read(tmp_path):
    """Reads a file of this content."""

    def read(content: bytes, name: str = "vectors"):
        (tmp_path / name).write_bytes(content)
        return word_files.read(tmp_path / name)

    return read


def equal(found, words=WORDS, vectors=VECTORS):
    assert found.words == list(words) and found.vectors.dtype == np.float32
    np.testing.assert_array_equal(found.vectors, vectors)


@pytest.mark.parametrize("content", [TEXT, GLOVE, C_TOOL, TEXT.replace(b"\n", b"\r\n"), BINARY, WITH_ENDS])
@pytest.mark.parametrize("name", ["vectors.any", "vectors.txt.gz"])
def test_formats_are_detected_by_content(read, content, name, monkeypatch):
    packed = gzip.compress(content) if name.endswith(".gz") else content
    equal(read(packed, name))
    # The same in blocks that end anywhere.
    for block in (1, 7, 64):
        monkeypatch.setattr(table, "TEXT_BLOCK", block)
        monkeypatch.setattr(table, "BINARY_BLOCK", block)
        equal(read(packed, name))


def test_the_suffix_decides_ambiguous_content(read):
    letters = b"1 1\na " + b"!!!!"  # 4 bytes that are a number, or no number
    assert read(letters, "a.bin").vectors.tolist() == [[np.frombuffer(b"!!!!", "<f4")[0]]]
    with pytest.raises(DataError, match=":2: the last line has no end"):
        read(letters, "a.txt")


@pytest.mark.parametrize("name", ["a.txt", "a.vec", "a.bin", "A.BIN"])
def test_written_vectors_round_trip_exactly(vectors, tmp_path, name):
    word_files.write(tmp_path / name, vectors)
    equal(word_files.read(tmp_path / name))


def test_many_rows_are_read_in_blocks(read):
    rows = np.random.default_rng(1).normal(size=(5000, 3)).astype("float32")
    words = [f"w{number}" for number in range(5000)]
    equal(read(text(zip(words, rows, strict=True))), words, rows)


@pytest.mark.parametrize("name", ["a.txt", "a.bin"])
def test_files_load_in_gensim_with_equal_neighbors(vectors, tmp_path, name):
    keyed = pytest.importorskip("gensim.models", reason="needs gensim: the extra `test`").KeyedVectors
    word_files.write(tmp_path / name, vectors)
    others = keyed.load_word2vec_format(str(tmp_path / name), binary=name.endswith(".bin"))
    assert others.index_to_key == WORDS
    for word in WORDS:
        ours, theirs = vectors.neighbors(word, k=3), others.most_similar(word, topn=3)
        assert [one.word for one in ours] == [one for one, _ in theirs]
        np.testing.assert_allclose([one.score for one in ours], [score for _, score in theirs], atol=1e-6)
    ours = vectors.analogy(WORDS[:2], WORDS[2:3], k=3)
    theirs = others.most_similar(positive=WORDS[:2], negative=WORDS[2:3], topn=3)
    assert [one.word for one in ours] == [one for one, _ in theirs]


@pytest.mark.parametrize("options", [{}, {"binary": True}, {"write_header": False}])
def test_gensim_files_are_read(tmp_path, options):
    keyed = pytest.importorskip("gensim.models", reason="needs gensim: the extra `test`").KeyedVectors(5)
    keyed.add_vectors(WORDS, VECTORS)
    keyed.save_word2vec_format(str(tmp_path / "vectors"), **options)
    equal(word_files.read(tmp_path / "vectors"))


def test_words_of_any_bytes(read, tmp_path):
    found = read(b"4 1\ncaf\xe9 1\ncaf\xe8 2\n\xc2\xa0 3\n\xff 4\n")
    assert found.words == ["caf\\xe9", "caf\\xe8", "\xa0", "\\xff"]


def test_the_first_of_repeated_words_is_kept(read, capsys):
    found = read(b"a 1 2\nb 3 4\na 5 6\nc 7 8\nb 9 0\n")
    equal(found, ["a", "b", "c"], [[1, 2], [3, 4], [7, 8]])
    assert "2 words are repeated: their first vectors count" in capsys.readouterr().err


def test_blanks_in_words_are_written_as_underscores(read, tmp_path, capsys):
    found = read(b". . . 1 2\nat name@domain.com 3 4\nb 5 6\n")
    assert found.words == [". . .", "at name@domain.com", "b"]
    for name in ("a.txt", "a.bin"):
        word_files.write(tmp_path / name, found)
        assert word_files.read(tmp_path / name).words == ["._._.", "at_name@domain.com", "b"]
        assert "blanks in 2 words are written as _" in capsys.readouterr().err


@pytest.mark.parametrize("content", [TEXT, BINARY, GLOVE])
def test_a_file_that_is_cut_off_at_any_byte_is_refused(read, content):
    ends = {place + 1 for place, byte in enumerate(content) if byte == 10}
    for length in range(len(content)):
        if content is GLOVE and length in ends:
            continue  # whole rows: nobody can know of others
        with pytest.raises(DataError) as caught:
            read(content[:length])
        assert "vectors" in caught.value.where, length


def _array() -> bytes:
    file = io.BytesIO()
    np.save(file, VECTORS)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no word vectors: expected word2vec's text or binary.* received an empty file.*save_word2vec"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "what seems to be an image"),
        (pickle.dumps({"a": 1}), "what seems to be a pickle of Python"),
        (_array(), "what seems to be an array of NumPy"),
        (gzip.compress(TEXT), "what seems to be a file compressed by gzip"),
        (struct.pack("<ii", 793712314, 12) + b"\0" * 40, "what seems to be a model of fastText. Read the .vec"),
        (b"It was the best of times\nit was\n", "received b'It was the best"),
        (
            b"a 1 2\nb 3\n",
            "vectors:2: the row is not a word with its vector: expected a word and 2 num.* received 1 n",
        ),
        (b"a 1 2\nb 3 4 5\n", "vectors:2: .* received 3 numbers"),
        (b"a 1 2\nb 3 four\n", "vectors:2: .* received 'four' among them"),
        (b"a 1 2\n\nb 3 4\n", "vectors:2: .* received no word"),
        (b"a 1 2\n 3 4\n", "vectors:2: .* received no word"),
        (b"2 2\na 1 2\nb 1 nan\n", "row 2: a vector has a value that is not finite: .* of the word 'b', received nan"),
        (b"a 1 2\nb 1 -inf\n", "row 2: .* received -inf"),
        (b"a 1 2\nb 1 1e39\n", "row 2: .* received inf"),
        (b"1 1\na " + np.float32(np.nan).tobytes(), "row 1: .* of the word 'a', received nan"),
        (b"3 2\na 1 2\nb 1.25 2.25\n", "3: the number of rows differs .* expected 3 words, received 2"),
        (b"1 2\na 1 2\nb 1 2\n", "the number of rows differs .* expected 1 words, received 2"),
        (b"6" + BINARY[1:], "byte 162: the file continues after its vectors: expected the end after 6 words"),
        (b"7 4" + BINARY[3:], "the file continues|is damaged"),
        (b"2 0\na\nb\n", "no vectors have this width: expected 1 to 65,536 numbers, received 0"),
        (b"1 1\n" + b"a" * 5000 + b"\0 1234", "byte 4: the file is damaged, or was cut off: .* received no word"),
    ],
)
def test_damaged_or_foreign_files_are_refused(read, content, message):
    with pytest.raises(DataError, match=message) as caught:
        read(content)
    assert "vectors" in caught.value.where


@pytest.mark.parametrize("header", [b"99999999999999 300", b"1 99999999999999", b"999999999 60000"])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.bin", "vectors.bin.gz"])
def test_an_oversized_header_takes_no_memory(read, header, name):
    content = header + b"\na \0\0\0\0 1\n"
    tracemalloc.start()
    with pytest.raises(DataError, match="too small for its|no vectors have this width|cut off"):
        read(gzip.compress(content) if name.endswith("gz") else content, name)
    assert tracemalloc.get_traced_memory()[1] < 300 << 20
    tracemalloc.stop()


def test_a_missing_vector_file_is_reported(tmp_path):
    with pytest.raises(DataError, match="nowhere.txt: cannot read the file"):
        word_files.read(tmp_path / "nowhere.txt")
    with pytest.raises(DataError, match="the compressed file is damaged"):
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT)[:-9])
        word_files.read(tmp_path / "a.txt.gz")


def test_the_projector_reads_its_folder(vectors, tmp_path):
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    for _ in range(2):  # it is written anew
        word_files.check(tmp_path / "projector")
        word_files.write(tmp_path / "projector", vectors)
    (found,) = text_format.Parse(
        (tmp_path / "projector/projector_config.pbtxt").read_text(), ProjectorConfig()
    ).embeddings
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "projector" / found.tensor_path, "float32"), VECTORS)
    header, *lines = (tmp_path / "projector" / found.metadata_path).read_text().splitlines()
    assert header == "word\tcount" and lines == [f"{word}\t{7 - place}" for place, word in enumerate(WORDS)]
    word_files.write(tmp_path / "plain", WordVectors(WORDS, VECTORS))
    assert (tmp_path / "plain" / found.metadata_path).read_text().splitlines() == WORDS


def test_invalid_outputs_are_refused(tmp_path):
    for output in ("a.TXT", "a.vec", "a.bin", "new"):
        word_files.check(tmp_path / output)
    with pytest.raises(ConfigError, match="a.npy: unknown file format: expected one of .txt, .vec, .bin"):
        word_files.check(tmp_path / "a.npy")
    with pytest.raises(ConfigError, match=r"the path exists and is no projector folder: .*projector_config.pbtxt"):
        word_files.check(tmp_path)
