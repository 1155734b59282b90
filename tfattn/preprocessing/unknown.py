"""Counts of raw values that are unknown to a preprocessor."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

# Above twice this number of distinct values, only the most frequent are kept.
MAX_VALUES = 10_000
MAX_VALUE_LENGTH = 40  # characters


@dataclass(frozen=True)
class Unknown:
    """Counts of unknown values in one or more batches; counts can be added.

    Attributes:
        counted: the number of tokens, or of column values, known and unknown.
        unknown: the number of unknown values.
        values: the count of each unknown value; of very many distinct values, the most frequent.

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
            unknown: the unknown values, UTF-8.
        """
        texts = [text.decode("utf-8", errors="replace").strip() for text in unknown]
        return Unknown(int(counted), len(texts), Counter(text[:MAX_VALUE_LENGTH] for text in texts))

    def __add__(self, other: "Unknown") -> "Unknown":
        values = self.values.copy()
        values.update(other.values)  # many times faster than `+`
        if len(values) > 2 * MAX_VALUES:
            values = Counter(dict(values.most_common(MAX_VALUES)))
        return Unknown(self.counted + other.counted, self.unknown + other.unknown, values)

    @property
    def fraction(self) -> float:
        """The fraction of unknown values; 0 if nothing was counted."""
        return self.unknown / max(self.counted, 1)
