"""Words and how often each occurs, as the texts that the `tokenizers` package learns from."""

from collections.abc import Iterator, Mapping

_WORDS_PER_TEXT = 1000


def repeated(words: Mapping[str, int]) -> Iterator[str]:
    """Write texts in which each word, with blanks between them, stands as often as it was counted."""
    for word, count in words.items():
        for start in range(0, count, _WORDS_PER_TEXT):
            yield " ".join([word] * min(_WORDS_PER_TEXT, count - start))
