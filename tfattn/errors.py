"""What a user can do wrong, each with where it happened, what was expected, what was received and the remedy.

TfattnError
├── ConfigError       a key, value or file of the configuration
│   └── ConfigProblems    several of them at once
├── DataError         a source file, a row, a record file
├── CheckpointError   a checkpoint or a published weight file that does not fit
├── TrainingError     training cannot go on (not a number, a lost worker, a folder in use)
├── ExportError       a SavedModel that cannot be written, or does not predict as the trained model
├── SavedModelError   a SavedModel that would do what it must not, or is none
└── ServingError      a request or a server
    └── RefusedError      a row that the model does not take
"""

import difflib
from collections.abc import Iterable


def nearest(word: str, words: Iterable[str], most: int = 1) -> str:
    """Suggest the most similar words in a sentence, whatever their case, or nothing."""
    folded: dict[str, str] = {}
    for known in words:
        folded.setdefault(known.casefold(), known)
    near = difflib.get_close_matches(str(word).casefold(), folded, n=most)
    return f"Did you mean {' or '.join(f'`{folded[one]}`' for one in near)}?" if near else ""


def listed(words: Iterable[str], most: int = 20) -> str:
    """List words for a message: the first few, and the number of others; quoted where spaces would not be seen."""
    words = list(words)
    shown = [word if word and word == word.strip() else repr(word) for word in words[:most]]
    return ", ".join(shown) + f" and {len(words) - most:,} more" * (len(words) > most)


class TfattnError(Exception):
    """One clear message: `where: what happened: expected X, received Y. remedy`.

    Args:
        what: what is wrong, in a few words.
        where: file, line, row, tensor or key at which it was found.
        expected: what would have been right.
        received: what was there instead.
        remedy: what to do about it, a full sentence.
    """

    def __init__(self, what: str, *, where: str = "", expected: str = "", received: str = "", remedy: str = ""):
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.received = received
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        sides = [f"expected {self.expected}"] if self.expected else []
        sides += [f"received {self.received}"] if self.received else []
        contrast = f": {', '.join(sides)}" if sides else ""
        remedy = f". {self.remedy}" if self.remedy else ""
        return f"{place}{self.what}{contrast}{remedy}"


class ConfigError(TfattnError):
    """A wrong key or value. `key` names the constructor argument, so that the reader can add file, line and column."""

    def __init__(self, what: str, *, key: str = "", **details: str):
        super().__init__(what, **details)
        self.key = key


class ConfigProblems(ConfigError):
    """Everything that is wrong with a configuration, so that it can be mended in one go."""

    def __init__(self, problems: list[ConfigError]):
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class DataError(TfattnError):
    """A source file, a row or a record file is not as it should be."""


class CheckpointError(TfattnError):
    """Saved or published weights do not fit the model."""


class TrainingError(TfattnError):
    """Training cannot go on."""


class ExportError(TfattnError):
    """An export cannot be written, or does not predict as the trained model did."""


class SavedModelError(TfattnError):
    """A SavedModel would do what it must not: run code, read or write files that are not its own."""


class ServingError(TfattnError):
    """A request or a server is not as it should be."""


class RefusedError(ServingError):
    """A model does not take a row that it was asked; others may be answered."""
