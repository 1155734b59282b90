"""Normalization of texts in the graph, with the original character of each normalized character.

The steps are those of normalizers in tokenizer.json. Steps that change single characters (case folding, decomposition,
removal of accents) are a table with an entry for each Unicode character, which the reference, the `tokenizers` package,
fills. Composition (NFC, NFKC) depends on adjacent characters; tensorflow-text computes it.
"""

import functools
import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text
from tokenizers import normalizers

from tfattn.preprocessing.character_kinds import SPACE, kind_pages
from tfattn.preprocessing.code_points import (
    CODE_POINTS,
    SURROGATES,
    UNASSIGNED,
    CodePointTable,
    Pages,
    build_pages,
    valid_utf8,
)

MAX_TEXT_BYTES = 1 << 16  # longer texts are cut, as for SentencePieceModel
# Normalizers that change each character independently, by their names in tokenizer.json.
CHARACTER_STEPS = {
    "Lowercase": normalizers.Lowercase,
    "Nmt": normalizers.Nmt,
    "NFD": normalizers.NFD,
    "NFKD": normalizers.NFKD,
    "StripAccents": normalizers.StripAccents,
}
FORMS = ("NFC", "NFKC")

_BLANK, _BREAKS = ord(" "), tuple(map(ord, "\n\r\t"))
_DROPPED = 1  # an odd entry; others are twice the distance to the new character
_BETWEEN = "\ue000"  # a private character, which no normalizer changes


class Step(NamedTuple):
    """A step of a normalization.

    Attributes:
        kind: "characters" changes each character by CHARACTER_STEPS; "form" composes characters; "pairs" replaces two
            equal characters by another; "blanks" replaces characters by a blank; "spaces" replaces runs of white space
            by a blank; "strip" drops white space at the ends of a text; "prefix" puts a blank before a text that does
            not start with a blank.
        values: the names of CHARACTER_STEPS; a name of FORMS; the character of pairs and its replacement; characters;
            none; the ends, "left" and "right"; none.
    """

    kind: Literal["characters", "form", "pairs", "blanks", "spaces", "strip", "prefix"]
    values: tuple[str, ...] = ()


class NormalizedTexts(NamedTuple):
    """Normalized texts, and the original character of each normalized character.

    Attributes:
        characters: the code points, ragged (B, (N)) int32.
        sources: the index of the original character of each of all N characters, counted over all texts, int64.
        text_starts: (B,) int64, the index of the first original character of each text.
    """

    characters: tf.RaggedTensor
    sources: tf.Tensor
    text_starts: tf.Tensor

    @property
    def strings(self) -> tf.Tensor:
        """The normalized texts (B,)."""
        return tf.strings.unicode_encode(self.characters, "UTF-8")

    def byte_starts(self) -> tf.Tensor:
        """Return the index of the first byte of each character, and of the end, over all texts: (N + 1,) int64."""
        code_points = self.characters.values
        sizes = 1 + sum(tf.cast(code_points > last, tf.int64) for last in (0x7F, 0x7FF, 0xFFFF))
        return tf.concat([[0], tf.cumsum(sizes)], 0)

    def keep(self, is_kept: tf.Tensor, characters: tf.Tensor | None = None) -> "NormalizedTexts":
        """Return the texts with some of their characters.

        Args:
            is_kept: (N,) bool.
            characters: (N,) int32, the new characters; by default they do not change.
        """
        values = self.characters.values if characters is None else characters
        kept = tf.where(is_kept)[:, 0]
        splits = tf.searchsorted(kept, self.characters.row_splits, out_type=tf.int64)
        ragged = tf.RaggedTensor.from_row_splits(tf.gather(values, kept), splits, validate=False)
        return NormalizedTexts(ragged, tf.gather(self.sources, kept), self.text_starts)


class TextNormalization(tf.Module):
    """The normalization of texts by steps.

    Invalid UTF-8 is read as U+FFFD; a text is cut after 65,536 bytes.

    Args:
        steps: the steps, in order.

    Attributes:
        fingerprint: SHA-256 of the treatment of characters.

    Example:
        >>> normalize = TextNormalization([Step("characters", ("Lowercase",))])
        >>> normalize(tf.constant(["A"])).strings.numpy()
        array([b'a'], dtype=object)
    """

    def __init__(self, steps: Sequence[Step] = ()):
        super().__init__()
        steps = _merged(steps)
        kinds, digest = kind_pages()
        tables = {step.values: _pages(step.values) for step in steps if step.kind == "characters"}
        parts = [digest, *(digest for _, digest in tables.values()), repr(steps)]
        self.fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        self._kinds = CodePointTable(kinds)
        self._tables = {_joined(names): CodePointTable(pages) for names, (pages, _) in tables.items()}
        self._steps = steps

    def strings(self, texts: tf.Tensor) -> tf.Tensor:
        """Normalize texts (B,), without the original characters: (B,) valid UTF-8."""
        if self._steps:
            return self(texts).strings
        return valid_utf8(texts, max_bytes=MAX_TEXT_BYTES)

    def __call__(self, texts: tf.Tensor) -> NormalizedTexts:
        """Normalize texts (B,), UTF-8."""
        texts = tf.strings.substr(tf.convert_to_tensor(texts, tf.string), 0, MAX_TEXT_BYTES)
        characters = tf.strings.unicode_decode(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)
        sources = tf.range(tf.size(characters.values, tf.int64))
        found = NormalizedTexts(characters, sources, characters.row_starts())
        for step in self._steps:
            found = getattr(self, f"_{step.kind}")(found, step.values)
        return found

    def spans(
        self, texts: NormalizedTexts, firsts: tf.RaggedTensor, limits: tf.RaggedTensor, is_space: tf.Tensor | None
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return start and end of pieces in the original texts, without white space at their ends.

        Args:
            texts: normalized texts.
            firsts: the index of the first normalized character of each piece, over all texts, ragged (B, (T)) int64.
            limits: the index after the last character, of the same shape.
            is_space: whether each of all T pieces is white space; the others have at least one character, also if the
                range is empty, because a character became several. None if ranges are never empty.

        Returns:
            two ragged (B, (T)) int32, the end excluded; 0 and 0 for white space.
        """
        written = tf.where(self._kinds(texts.characters.values) != SPACE)[:, 0]
        begin = tf.searchsorted(written, firsts.values, out_type=tf.int64)
        end = tf.searchsorted(written, limits.values, out_type=tf.int64)
        is_empty = (begin >= end) if is_space is None else is_space | (begin >= tf.size(written, tf.int64))
        end = tf.maximum(end, begin + 1)
        sources = tf.pad(tf.gather(texts.sources, written), [[0, 1]])
        offsets = tf.repeat(texts.text_starts, firsts.row_lengths())
        starts = tf.gather(sources, begin) - offsets
        ends = tf.gather(sources, end - 1) + 1 - offsets
        return tuple(firsts.with_values(tf.where(is_empty, 0, tf.cast(values, tf.int32))) for values in (starts, ends))

    def _characters(self, texts: NormalizedTexts, names: tuple[str, ...]) -> NormalizedTexts:
        old = texts.characters
        entries = self._tables[_joined(names)](old.values)  # (N, W)
        kept = tf.where(entries % 2 == 0)
        new = tf.gather(old.values, kept[:, 0]) + tf.gather_nd(entries, kept) // 2
        splits = tf.searchsorted(kept[:, 0], old.row_splits, out_type=tf.int64)
        ragged = tf.RaggedTensor.from_row_splits(new, splits, validate=False)
        return NormalizedTexts(ragged, tf.gather(texts.sources, kept[:, 0]), texts.text_starts)

    def _form(self, texts: NormalizedTexts, names: tuple[str, ...]) -> NormalizedTexts:
        # With a mark after each text, and a text after the last: find_source_offsets refuses empty texts, and crashes
        # without any.
        strings = tf.concat([tf.strings.join([texts.strings, "."]), ["."]], 0)
        composed, offsets = tf_text.normalize_utf8_with_offsets_map(strings, names[0])
        characters, starts = tf.strings.unicode_decode_with_offsets(composed, "UTF-8")
        sources = tf_text.find_source_offsets(offsets, starts)  # bytes of the old texts
        characters, starts, sources = (values[:-1, :-1] for values in (characters, starts, sources))
        byte_starts = texts.byte_starts()
        first_bytes = tf.gather(byte_starts, texts.characters.row_starts())
        positions = tf.cast(sources.values, tf.int64) + tf.repeat(first_bytes, starts.row_lengths())
        old = tf.searchsorted(byte_starts, positions, side="right", out_type=tf.int64) - 1
        return NormalizedTexts(characters, tf.gather(texts.sources, old), texts.text_starts)

    def _pairs(self, texts: NormalizedTexts, values: tuple[str, ...]) -> NormalizedTexts:
        old, new = map(ord, values)
        characters = texts.characters.values
        index, length = _runs(characters == old, texts.characters)
        is_first = (index % 2 == 0) & (index + 1 < length)
        is_second = (index % 2 == 1) & (length > 0)
        return texts.keep(~is_second, tf.where(is_first, new, characters))

    def _blanks(self, texts: NormalizedTexts, values: tuple[str, ...]) -> NormalizedTexts:
        characters = texts.characters.values
        is_blank = tf.reduce_any(characters[:, None] == tf.constant([ord(value) for value in values]), axis=1)
        return texts._replace(characters=texts.characters.with_values(tf.where(is_blank, _BLANK, characters)))

    def _spaces(self, texts: NormalizedTexts, values: tuple[str, ...]) -> NormalizedTexts:
        characters = texts.characters.values
        index, length = _runs(self._kinds(characters) == SPACE, texts.characters)
        is_break = tf.reduce_any(characters[:, None] == tf.constant(_BREAKS), axis=1)
        return texts.keep((index == 0) | (length == 0), tf.where((length > 1) | is_break, _BLANK, characters))

    def _strip(self, texts: NormalizedTexts, values: tuple[str, ...]) -> NormalizedTexts:
        characters = texts.characters
        is_text = tf.cast(self._kinds(characters.values) != SPACE, tf.int32)
        lengths = characters.row_lengths()
        before = tf.pad(tf.cumsum(is_text), [[1, 0]])  # written characters before each character
        of_text = [
            tf.repeat(tf.gather(before, side), lengths) for side in (characters.row_starts(), characters.row_limits())
        ]
        is_kept = tf.ones_like(is_text, tf.bool)
        if "left" in values:
            is_kept &= before[1:] > of_text[0]
        if "right" in values:
            is_kept &= before[:-1] < of_text[1]
        return texts.keep(is_kept)

    def _prefix(self, texts: NormalizedTexts, values: tuple[str, ...]) -> NormalizedTexts:
        characters = texts.characters
        starts = characters.row_starts()
        first = tf.gather(tf.pad(characters.values, [[0, 1]]), starts)
        is_added = (characters.row_lengths() > 0) & (first != _BLANK)
        added, sources = (
            tf.RaggedTensor.from_row_lengths(values, tf.cast(is_added, tf.int64), validate=False)
            for values in (
                tf.fill([tf.math.count_nonzero(is_added, dtype=tf.int32)], _BLANK),
                tf.gather(texts.sources, tf.boolean_mask(starts, is_added)),
            )
        )
        return NormalizedTexts(
            tf.concat([added, characters], axis=1),
            tf.concat([sources, characters.with_values(texts.sources)], axis=1).values,
            texts.text_starts,
        )


def _joined(names: tuple[str, ...]) -> str:
    return " ".join(names)


def _merged(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Join adjacent steps that change single characters."""
    found: list[Step] = []
    for step in steps:
        if found and step.kind == found[-1].kind == "characters":
            found[-1] = Step("characters", found[-1].values + step.values)
        else:
            found.append(step)
    return tuple(found)


def _runs(flags: tf.Tensor, texts: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the index of each character in its run of flagged characters, and the length of the run; 0 outside.

    Args:
        flags: (N,) bool.
        texts: ragged (B, (N)): runs end with their text.
    """
    numbers = tf.range(tf.size(flags))
    rows = texts.value_rowids()
    is_new = tf.concat([[True], rows[1:] != rows[:-1]], 0)[: tf.size(flags)]
    before = tf.concat([[False], flags[:-1]], 0)[: tf.size(flags)]
    is_start = flags & (is_new | ~before)
    run = tf.maximum(tf.cumsum(tf.cast(is_start, tf.int32)) - 1, 0)
    starts = tf.boolean_mask(numbers, is_start)
    starts = tf.pad(starts, [[0, 1]])  # there may be no run
    lengths = tf.math.unsorted_segment_sum(tf.cast(flags, tf.int32), run, tf.size(starts))
    return tf.where(flags, numbers - tf.gather(starts, run), 0), tf.where(flags, tf.gather(lengths, run), 0)


@functools.cache
def _pages(names: tuple[str, ...]) -> tuple[Pages, str]:
    """Compute the new characters of each character by running the reference: the table and its SHA-256."""
    known = [number for number in range(CODE_POINTS) if number not in SURROGATES and number not in UNASSIGNED]
    reference = normalizers.Sequence([CHARACTER_STEPS[name]() for name in names])
    characters = [chr(number) for number in known if chr(number) != _BETWEEN]
    changed = {
        ord(old): new
        for old, new in zip(characters, reference.normalize_str(_BETWEEN.join(characters)).split(_BETWEEN), strict=True)
        if new != old
    }
    table = np.full((CODE_POINTS, max(1, *map(len, changed.values()))), _DROPPED, np.int32)
    table[:, 0] = 0
    for old, new in changed.items():
        table[old, 0] = _DROPPED
        table[old, : len(new)] = [2 * (ord(character) - old) for character in new]
    return build_pages(table), hashlib.sha256(table.tobytes()).hexdigest()
