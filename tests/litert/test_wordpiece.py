"""The reader without TensorFlow gives the ids of the preprocessing for texts in any script."""

import random

import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import ServingError
from tfattn.litert.wordpiece import WordPieceReader
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.wordpiece import WordPiece

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz0123456789.,!?-'", "海", "機"]
WORDS += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"] + ["electro", "##nique", "straße", "ang"]
TEXTS = [
    "Électronique: Straße, ANGELÉ!",
    "",
    " \t\n",
    "海機 sorter海 \U0001f600 fuses\u200b blown\ue000 x\ufffd",
    "x" * 100 + " " + "x" * 101,
    "[CLS] don't stop-it... ﬁ １２３ İstanbul ǅ ẞ",
    "e\u0301a\u0308 नमस्ते สวัสดี مرحبا 안녕하세요",
    " ".join(["long words"] * 40),
]


@pytest.fixture(scope="module", params=[(True, True), (False, False), (True, False)])
def tokenizer(request, tmp_path_factory):
    """A tokenizer and its files, by whether it folds case and strips accents."""
    folder = tmp_path_factory.mktemp("vocabulary")
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in WORDS))
    lower_case, strip_accents = request.param

    def tokenizer(fields=("text",), **options):
        made = WordPiece(
            vocabulary=str(folder / "words.txt"),
            lower_case=lower_case,
            strip_accents=strip_accents,
            fields=fields,
            **{"max_length": 48, **options},
        )
        made.fit([])
        made.save(folder)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        return made, files | made.tables

    return tokenizer


def check(made, read, *texts):
    expected = padded(made(dict(zip(made.fields, map(tf.constant, texts), strict=True))))
    found = read(*texts)
    assert found.keys() == expected.keys()
    for name, values in found.items():
        np.testing.assert_array_equal(values, np.asarray(expected[name], np.int32))


def test_texts(tokenizer):
    made, files = tokenizer()
    check(made, WordPieceReader(files), TEXTS)


@pytest.mark.parametrize("max_length", [8, 9, 48])
def test_pairs(tokenizer, max_length):
    made, files = tokenizer(("first", "second"), max_length=max_length)
    check(made, WordPieceReader(files), TEXTS, TEXTS[::-1])


def test_any_characters(tokenizer):
    draw = random.Random(7)
    planes = [(0x20, 0x7F)] * 4 + [
        (0xA0, 0x24F),
        (0x250, 0x2FFF),
        (0x3000, 0xD7FF),
        (0xE000, 0x2FFFF),
        (0xE0000, 0x10FFFF),
    ]
    texts = ["".join(chr(draw.randint(*draw.choice(planes))) for _ in range(30)) for _ in range(300)]
    made, files = tokenizer()
    check(made, WordPieceReader(files), texts)


def test_the_table_is_small(tokenizer):
    _, files = tokenizer()
    assert len(files["characters.i32"]) < 256_000


def test_models_with_other_tokenizers_are_refused(tokenizer):
    _, files = tokenizer()
    del files["characters.i32"]
    with pytest.raises(ServingError, match="cannot be read by the WordPiece reader: .*received no characters.i32"):
        WordPieceReader(files)
    _, files = tokenizer(doc_stride=4)
    with pytest.raises(ServingError, match="received windows of long texts. Let a server"):
        WordPieceReader(files)


def test_the_number_of_texts(tokenizer):
    _, files = tokenizer(("first", "second"))
    with pytest.raises(ServingError, match="wrong number of texts: expected 2, received 1"):
        WordPieceReader(files)(["a"])
