"""Alignment of entities to word boundaries, in the graph."""

import tensorflow as tf

# RE2. Marks such as "+" and "`" are punctuation here, currency signs and pictures are not.
_PUNCTUATION = r"[\p{P}\p{Sk}\p{Sm}]+"
_APOSTROPHE = r"['’]"
_CLITIC = r"(?i:s|re|ve|ll|d|m|t)"  # English: in "Rome's" the word is "Rome"
_UNSPACED = r".*[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}].*"
_NO_SPACE = r"[^\s\p{Z}]*"


def align_to_words(texts: tf.Tensor, label_ids: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor, is_part: tf.Tensor):
    """Change labels so that no entity starts or ends inside a word or is only punctuation.

    BERT divides a word such as "Soviet-era" into the parts "Soviet", "-" and "era", and a tagger labels each part.
    Between two white spaces, the word spans the first to the last part that is not punctuation, and has the label of
    its first part. Punctuation before the word keeps its label if the word continues its entity; punctuation after it
    keeps its label if it continues the entity of the word; other punctuation gets O. Labels of scripts without spaces
    are unchanged, except for entities of only punctuation.

    Args:
        texts: (B,) UTF-8.
        label_ids: (B, W) int32, the labels of parts in order: 0 is O, 2 k + 1 is B of type k, 2 k + 2 is I.
        starts, ends: (B, W) int32, the start and the end of each part, the end excluded.
        is_part: (B, W) bool, False for padding at the end of a row.

    Returns:
        (B, W) int32, the changed labels; 0 for padding.

    Example:
        >>> text, starts, ends = tf.constant(["Soviet-era"]), tf.constant([[0, 6, 7]]), tf.constant([[6, 7, 10]])
        >>> align_to_words(text, tf.constant([[1, 2, 0]]), starts, ends, ends > 0).numpy().tolist()
        [[1, 2, 2]]
    """
    labels = tf.ragged.boolean_mask(tf.cast(label_ids, tf.int32), is_part)
    rows = tf.cast(labels.value_rowids(), tf.int32)
    changed = _relabel(
        labels.values, rows, *_kinds(texts, *(tf.ragged.boolean_mask(side, is_part) for side in (starts, ends)))
    )
    return tf.scatter_nd(tf.where(is_part), changed, tf.shape(label_ids, tf.int64))


def _kinds(texts: tf.Tensor, starts: tf.RaggedTensor, ends: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return which of N parts are punctuation, which are inside words, and the white-space chunk of each."""
    parts = substrings(texts, starts, ends).values
    is_punctuation = tf.strings.regex_full_match(parts, _PUNCTUATION)
    after_apostrophe = _shifted(tf.strings.regex_full_match(parts, _APOSTROPHE))
    is_clitic = tf.logical_and(after_apostrophe, tf.strings.regex_full_match(parts, _CLITIC))
    is_first_of_row = _differs(starts.value_rowids())
    before = starts.with_values(tf.where(is_first_of_row, starts.values, tf.roll(ends.values, 1, 0)))
    has_space = tf.logical_not(tf.strings.regex_full_match(substrings(texts, before, starts).values, _NO_SPACE))
    chunks = _numbered(tf.logical_or(is_first_of_row, has_space))
    is_unspaced = tf.math.segment_max(tf.cast(tf.strings.regex_full_match(parts, _UNSPACED), tf.int32), chunks) > 0
    # Each part of a script without spaces is a chunk of its own.
    chunks = _numbered(tf.logical_or(_differs(chunks), tf.gather(is_unspaced, chunks)))
    is_inner = tf.logical_not(tf.logical_or(is_punctuation, is_clitic))
    is_after_word = _sum_within(tf.cast(is_inner, tf.int32), chunks) > 0
    # A clitic follows a word: "'s" in "'s-Hertogenbosch" is no clitic.
    is_inner = tf.logical_or(is_inner, tf.logical_and(is_clitic, tf.logical_not(is_after_word)))
    return is_punctuation, is_inner, chunks


def _relabel(
    labels: tf.Tensor, rows: tf.Tensor, is_punctuation: tf.Tensor, is_inner: tf.Tensor, chunks: tf.Tensor
) -> tf.Tensor:
    """Change the labels of N parts."""
    inner = tf.cast(is_inner, tf.int32)
    of_chunk = tf.math.segment_sum(inner, chunks)
    before = tf.cumsum(inner, exclusive=True) - tf.gather(tf.cumsum(of_chunk, exclusive=True), chunks)
    has_word = tf.gather(of_chunk, chunks) > 0
    is_leading = tf.logical_and(has_word, tf.logical_and(tf.logical_not(is_inner), before == 0))
    is_trailing = tf.logical_and(has_word, before == tf.gather(of_chunk, chunks))
    is_trailing = tf.logical_and(is_trailing, tf.logical_not(is_inner))

    # The word has the label of its first part; the other parts continue it.
    is_first = tf.logical_and(is_inner, before == 0)
    first_labels = tf.math.segment_max(tf.where(is_first, labels, 0), chunks)
    inside = 2 * tf.gather((first_labels + 1) // 2, chunks)
    is_outer = tf.logical_or(is_leading, is_trailing)
    is_single = tf.logical_not(has_word)
    labels = tf.where(tf.logical_or(tf.logical_or(is_first, is_outer), is_single), labels, inside)

    # Punctuation around the word, and between that and the word, belongs to the same entity or to none.
    next_labels = tf.concat([labels[1:], [0]], 0)
    breaks_before = tf.logical_and(is_leading, next_labels != 2 * ((labels + 1) // 2))
    breaks_after = tf.logical_and(is_trailing, tf.logical_or(labels != inside, inside == 0))
    broken = tf.logical_or(
        _sum_within(tf.cast(breaks_before, tf.int32), chunks, reverse=True) > 0,
        _sum_within(tf.cast(breaks_after, tf.int32), chunks) > 0,
    )
    labels = tf.where(tf.logical_and(is_outer, broken), 0, labels)

    # Remove entities of only punctuation.
    types = (labels + 1) // 2
    is_new = tf.logical_or(_differs(rows), tf.logical_or(labels % 2 == 1, _differs(types)))
    runs = _numbered(is_new)
    has_words = tf.math.segment_max(tf.cast(tf.logical_not(is_punctuation), tf.int32), runs) > 0
    return tf.where(tf.gather(has_words, runs), labels, 0)


def _sum_within(values: tf.Tensor, chunks: tf.Tensor, *, reverse: bool = False) -> tf.Tensor:
    """Sum the values of each chunk up to each part, or from each part to the end of its chunk."""
    totals = tf.cumsum(tf.math.segment_sum(values, chunks), exclusive=True, reverse=reverse)
    return tf.cumsum(values, reverse=reverse) - tf.gather(totals, chunks)


def _differs(values: tf.Tensor) -> tf.Tensor:
    """Return which of N values differ from the value before; the first always does."""
    return tf.concat([tf.ones_like(values[:1], tf.bool), values[1:] != values[:-1]], 0)


def _shifted(flags: tf.Tensor) -> tf.Tensor:
    return tf.concat([tf.zeros_like(flags[:1]), flags[:-1]], 0)


def _numbered(is_first: tf.Tensor) -> tf.Tensor:
    """Compute the group number of each of N parts, from 0, given the first parts of groups."""
    return tf.cumsum(tf.cast(is_first, tf.int32)) - 1


def substrings(texts: tf.Tensor, starts: tf.RaggedTensor, ends: tf.RaggedTensor) -> tf.RaggedTensor:
    """Return substrings of texts.

    Args:
        texts: (B,) UTF-8; invalid UTF-8 is read as U+FFFD, as in `words.split`.
        starts, ends: ragged (B, (N)) int, the first character of each substring, and the end, excluded.

    Returns:
        ragged (B, (N)) strings.
    """
    characters = tf.strings.unicode_decode(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)
    before = tf.gather(characters.row_starts(), starts.value_rowids())
    indices = tf.ragged.range(before + tf.cast(starts.values, tf.int64), before + tf.cast(ends.values, tf.int64))
    parts = indices.with_values(tf.gather(characters.values, indices.values))
    return starts.with_values(tf.strings.unicode_encode(parts, "UTF-8"))
