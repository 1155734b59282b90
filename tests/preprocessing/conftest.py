"""The reference BERT tokenizer, and comparisons with it."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from tfattn.preprocessing.vocabulary import END, SPECIAL_TOKENS, START, UNKNOWN
from tfattn.preprocessing.wordpiece import WordPiece

Check = Callable[[WordPiece, Sequence[tuple[str, ...]]], None]


@pytest.fixture
def write_vocabulary(tmp_path: Path) -> Callable[..., str]:
    """Writes a vocab.txt of the special tokens and the given ones, and returns its path."""

    def write(*tokens: str) -> str:
        path = tmp_path / f"vocab{len(list(tmp_path.iterdir()))}.txt"
        path.write_bytes("".join(f"{token}\n" for token in [*SPECIAL_TOKENS, *tokens]).encode())
        return str(path)

    return write


@functools.cache
def describe_reference(tokenizer: WordPiece) -> Tokenizer:
    """`BertWordPieceTokenizer` with the same settings, without special tokens in texts: texts are data."""
    tokens = {token: number for number, token in enumerate(tokenizer.tokens)}
    reference = Tokenizer(models.WordPiece(tokens, unk_token=UNKNOWN, max_input_chars_per_word=100))
    pieces = tokenizer.pieces
    reference.normalizer = normalizers.BertNormalizer(lowercase=pieces.lower_case, strip_accents=pieces.strip_accents)
    reference.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    reference.post_processor = processors.BertProcessing((END, tokens[END]), (START, tokens[START]))
    reference.enable_truncation(tokenizer.max_length, strategy="longest_first")
    return reference


@functools.cache
def graph_of(tokenizer: WordPiece) -> Callable:
    """All answers of a tokenizer in one graph."""

    def answer(fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        return {**tokenizer(fields), "offsets": tokenizer.offsets(fields), "is_cut": tokenizer.truncated(fields)}

    return tf.function(
        answer, input_signature=[{name: tf.TensorSpec([None], tf.string) for name in tokenizer.fields}], autograph=False
    )


@pytest.fixture(scope="session")
def equals_reference() -> Check:
    """Asserts that a fitted tokenizer and the reference agree on rows: ids, segments, offsets and what is cut."""

    def check(tokenizer: WordPiece, rows: Sequence[tuple[str | bytes, ...]]) -> None:
        for first in range(0, len(rows), 1000):
            some = rows[first : first + 1000]
            columns = zip(tokenizer.fields, zip(*some, strict=True), strict=True)
            answers = graph_of(tokenizer)({name: tf.constant(column, tf.string) for name, column in columns})
            ids, segments = (answers[name].to_list() for name in ("token_ids", "segment_ids"))
            starts, ends = (side.to_list() for side in answers["offsets"])

            texts = [tuple(map(as_text, row)) for row in some]
            expected = describe_reference(tokenizer).encode_batch([row if len(row) == 2 else row[0] for row in texts])
            for place, (row, one) in enumerate(zip(some, expected, strict=True)):
                assert ids[place] == one.ids, row
                assert segments[place] == one.type_ids, row
                assert list(zip(starts[place], ends[place], strict=True)) == one.offsets, row
                assert answers["is_cut"].numpy()[place] == bool(one.overflowing), row

    return check


def as_text(text: str | bytes) -> str:
    return text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
