"""Counts of the raw values that a preprocessor does not know, which the model therefore cannot tell apart."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

# The number of different values that are counted separately; of more than twice as many, only the most frequent are.
MOST_VALUES = 10_000
LONGEST_VALUE = 40  # characters


@dataclass(frozen=True)
class Unknown:
    """Counts of unknown values, of one batch or of many; they can be added.

    Attributes:
        counted: the number of tokens, or of values of a column, known and unknown.
        unknown: the number of unknown ones.
        values: how often each unknown one occurs; of very many different ones, the most frequent.

    Example:
        >>> Unknown.of(4, [b"pump", b"leak"]) + Unknown.of(2, [b"pump"])
        Unknown(counted=6, unknown=3, values=Counter({'pump': 2, 'leak': 1}))
    """

    counted: int = 0
    unknown: int = 0
    values: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def of(counted: int, unknown: Iterable[bytes]) -> "Unknown":
        """Count the unknown values of one batch.

        Args:
            counted: the number of tokens or values, known and unknown.
            unknown: the unknown ones, UTF-8.
        """
        texts = [text.decode("utf-8", errors="replace").strip() for text in unknown]
        return Unknown(int(counted), len(texts), Counter(text[:LONGEST_VALUE] for text in texts))

    def __add__(self, other: "Unknown") -> "Unknown":
        values = self.values.copy()
        values.update(other.values)  # many times faster than adding them
        if len(values) > 2 * MOST_VALUES:
            values = Counter(dict(values.most_common(MOST_VALUES)))
        return Unknown(self.counted + other.counted, self.unknown + other.unknown, values)

    @property
    def fraction(self) -> float:
        """The unknown fraction of all that was counted; 0 where nothing was."""
        return self.unknown / max(self.counted, 1)
