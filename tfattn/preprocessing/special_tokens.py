"""The special tokens of sequences of one text or two, and where they are."""

from dataclasses import dataclass

from tfattn.preprocessing.vocabulary import END, MASK, START


@dataclass(frozen=True)
class SpecialTokens:
    """The special tokens of an encoder.

    A text is `start text end`. A pair is `start first end second end`, with one or several ends between the texts.

    Args:
        start: the token before a text, such as [CLS] or <s>.
        end: the token after a text, such as [SEP] or </s>.
        mask: the token that hides another token; None if there is none.
        others: further tokens that no text contains, such as padding.
        separators: the number of end tokens between two texts.
        second_segment: the segment of the second text of a pair.
        mask_takes_space: whether the mask replaces the white space before it, too.

    Example:
        >>> SpecialTokens(start="<s>", end="</s>", mask="<mask>", separators=2, second_segment=0).marks(2)
        4
    """

    start: str = START
    end: str = END
    mask: str | None = MASK
    others: tuple[str, ...] = ()
    separators: int = 1
    second_segment: int = 1
    mask_takes_space: bool = False

    def marks(self, texts: int) -> int:
        """Return the number of special tokens of a sequence of one text or two."""
        return 1 + texts + (self.separators - 1) * (texts - 1)

    @property
    def names(self) -> tuple[str, ...]:
        """All special tokens, each once."""
        given = (self.start, self.end, self.mask, *self.others)
        return tuple(dict.fromkeys(name for name in given if name is not None))
