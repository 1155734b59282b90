"""Exceptions with the location, the expected and received values and the remedy.

TfattnError
├── ConfigError       a key, value or file of the configuration
│   └── ConfigProblems    several errors of a configuration
├── DataError         a source file, a row, a record file
├── CheckpointError   a checkpoint or pretrained weights that do not fit
├── HubError          a hub that cannot be reached, or a model on it that is damaged
├── TrainingError     training cannot continue (a non-finite loss, a lost worker, a folder in use)
├── ExportError       a SavedModel cannot be written, or does not predict like the trained model
├── SavedModelError   a SavedModel has forbidden operations, or is not valid
└── ServingError      a request or a server
    └── RefusedError      a row that the model does not accept
"""

from collections.abc import Iterable

from tfattn.similar_names import similar_names


def nearest(word: str, words: Iterable[str], limit: int = 1) -> str:
    """Return a sentence that suggests the names that a word probably means; "" if there are none.

    Example:
        >>> nearest("ft_transformer", ["transformer", "feature_tokenizer_transformer"])
        'Did you mean `feature_tokenizer_transformer`?'
    """
    matches = similar_names(word, words, limit)
    return f"Did you mean {' or '.join(f'`{match}`' for match in matches)}?" if matches else ""


def listed(words: Iterable[str], limit: int = 20) -> str:
    """List words for a message: the first words and the number of others; words with outer spaces are quoted."""
    words = list(words)
    shown = [word if word and word == word.strip() else repr(word) for word in words[:limit]]
    return ", ".join(shown) + f" and {len(words) - limit:,} more" * (len(words) > limit)


class TfattnError(Exception):
    """An error with the message `where: what happened: expected X, received Y. remedy`.

    Args:
        what: the error, in a few words.
        where: the file, line, row, tensor or key of the error.
        expected: the expected value.
        received: the received value.
        remedy: how to fix the error, a full sentence.
    """

    def __init__(self, what: str, *, where: str = "", expected: str = "", received: str = "", remedy: str = ""):
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.received = received
        self.remedy = remedy

    def __str__(self) -> str:
        location = f"{self.where}: " if self.where else ""
        sides = [f"expected {self.expected}"] if self.expected else []
        sides += [f"received {self.received}"] if self.received else []
        contrast = f": {', '.join(sides)}" if sides else ""
        remedy = f". {self.remedy}" if self.remedy else ""
        return f"{location}{self.what}{contrast}{remedy}"


class ConfigError(TfattnError):
    """A wrong key or value. `key` is the constructor argument, to which file, line and column are added later."""

    def __init__(self, what: str, *, key: str = "", **details: str):
        super().__init__(what, **details)
        self.key = key


class ConfigProblems(ConfigError):
    """All errors of a configuration."""

    def __init__(self, problems: list[ConfigError]):
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class DataError(TfattnError):
    """A source file, a row or a record file is wrong or damaged."""


class CheckpointError(TfattnError):
    """Saved or pretrained weights do not fit the model."""


class HubError(TfattnError):
    """A hub of models cannot be reached or answers with an error, or a file on it is damaged."""


class TrainingError(TfattnError):
    """Training cannot continue."""


class ExportError(TfattnError):
    """An export cannot be written, or does not predict like the trained model."""


class SavedModelError(TfattnError):
    """A SavedModel has forbidden operations, such as running code or accessing other files."""


class ServingError(TfattnError):
    """A request is wrong, or a server fails."""


class RefusedError(ServingError):
    """A model does not accept a row; other rows may be answered."""
