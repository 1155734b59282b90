"""Prompt recipes: prompts of the rows of a file, and answers from generated text."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import Field, NonNegativeInt

from tfattn.config.types import Seed
from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.formats.training_file import TrainingFile
from tfattn.sampling_params import MaxTokens, Stops
from tfattn.serving.client import input_rows

TARGET = "target"  # the key of the target in a row
_COLUMN = re.compile(r"\{([^{}]*)\}")
Text = Annotated[str, Field(min_length=1)]


class Recipe:
    """A recipe of prompts with examples (few-shot) or without (zero-shot).

    Without `labels`, the answer is the text that greedy decoding generates after the prompt. With `labels`, the answer
    is the label whose words are the most probable continuation.

    Args:
        template: the prompt of a row, with {COLUMN} for the value of a column, without surrounding white space.
        labels: the words of each label after the prompt, by label, with the space before the words.
        per_token: whether to compare the mean log probability per token, for words of different lengths.
        without: the value of the columns of an empty row, such as "N/A". The probabilities of the words after it are
            divided out (contextual calibration, Zhao et al. 2021). Null compares the probabilities as they are.
        stop: strings that end a generated answer.
        max_tokens: the maximum number of tokens of a generated answer.
        answer: a regular expression, whose match, or first group, is the answer. Null takes the whole text.
        target: the column of the target.
        examples: a file of rows with targets.
        num_examples: the number of examples before the prompt, the same number for each label.
        seed: the seed of the choice and the order of examples.
        instruction: the text before the examples.
        separator: the text between the instruction, the examples and the prompt.

    Raises:
        ConfigError: two arguments contradict each other.

    Example:
        >>> recipe = Recipe(template="Q: {question}\\nA:", stop=["\\n"])
        >>> recipe.prompt({"question": "Why?"}, examples=[])
        'Q: Why?\\nA:'
    """

    def __init__(
        self,
        *,
        template: Text,
        labels: Annotated[dict[str, Text], Field(min_length=2)] | None = None,
        per_token: bool = False,
        without: str | None = None,
        stop: Stops = (),
        max_tokens: MaxTokens = 64,
        answer: Text | None = None,
        target: Text = "label",
        examples: str | None = None,
        num_examples: NonNegativeInt = 0,
        seed: Seed = 0,
        instruction: str = "",
        separator: str = "\n\n",
    ):
        self.template, self.labels, self.per_token, self.without = template, labels, per_token, without
        self.stop, self.max_tokens, self.answer = tuple(stop), max_tokens, answer
        self.target, self.examples, self.num_examples, self.seed = target, examples, num_examples, seed
        self.instruction, self.separator = instruction, separator
        self._check()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the template names."""
        return tuple(dict.fromkeys(_COLUMN.findall(self.template)))

    def trained_on(self, *, has_target: bool) -> TrainingFile:
        """Return the columns of a file to read: the columns of the template, and optionally the target."""
        return TrainingFile({name: name for name in self.columns} | ({TARGET: self.target} if has_target else {}))

    def chosen_examples(self) -> list[str]:
        """Read the examples, and choose the examples of the prompts.

        Raises:
            DataError: the file cannot be read, or has too few rows.
        """
        if not self.num_examples:
            return []
        by_label: dict[str, list[Mapping[str, str]]] = {}
        for row in self._rows(self.examples):
            by_label.setdefault(row[TARGET] if self.labels else "", []).append(row)
        rng = random.Random(self.seed)
        for rows in by_label.values():
            rng.shuffle(rows)
        names = list(self.labels or [""])
        chosen = []
        for number in range(self.num_examples):
            rows = by_label.get(names[number % len(names)])
            if not rows:
                raise DataError(
                    "the file has too few examples",
                    where=self.examples,
                    expected=f"{self.num_examples}, of each label the same number",
                )
            chosen.append(rows.pop())
        rng.shuffle(chosen)
        return [self._filled(row) + self._behind(row[TARGET]) for row in chosen]

    def prompt(self, row: Mapping[str, str], *, examples: Sequence[str]) -> str:
        """Return the prompt of a row.

        Args:
            row: a text for each column.
            examples: the result of `chosen_examples`.
        """
        first = [self.instruction] if self.instruction else []
        return self.separator.join([*first, *examples, self._filled(row)])

    def read(self, written: str) -> str:
        """Extract the answer from generated text; empty without a match."""
        if self.answer is None:
            return written.strip()
        found = re.search(self.answer, written)
        return found.group(found.re.groups and 1) or "" if found else ""

    def is_right(self, answer: str, target: str) -> bool:
        """Return whether an answer equals the target, ignoring case and white space."""
        return " ".join(answer.casefold().split()) == " ".join(target.casefold().split())

    def _filled(self, row: Mapping[str, str]) -> str:
        return _COLUMN.sub(lambda found: row[found[1]].strip(), self.template)

    def _behind(self, target: str) -> str:
        if self.labels is not None:
            return self.labels[target]
        return ("" if self.template[-1].isspace() else " ") + target.strip()

    def _rows(self, path: str) -> Iterator[Mapping[str, str]]:
        for row in input_rows.read(path, self.trained_on(has_target=True)):
            if row.problem:
                raise row.problem
            if self.labels is not None and row.fields[TARGET] not in self.labels:
                raise DataError(
                    "the label is none of the recipe",
                    where=row.where,
                    expected=f"one of {listed(self.labels)}",
                    received=repr(row.fields[TARGET]),
                    remedy=nearest(row.fields[TARGET], self.labels),
                )
            yield row.fields

    def _check(self) -> None:
        columns = self.columns
        if not columns or "" in columns or TARGET in columns:
            expected = f"{{COLUMN}} of at least one column, and none named {TARGET}"
            raise ConfigError("no prompt of a row", key="template", expected=expected, received=repr(self.template))
        if self.labels is None and (self.per_token or self.without is not None):
            key = "per_token" if self.per_token else "without"
            raise ConfigError(
                "nothing is compared", key=key, expected="`labels` in the same file", remedy="Leave it out."
            )
        if self.labels is not None and (self.stop or self.answer):
            key = "stop" if self.stop else "answer"
            raise ConfigError(
                "nothing is written", key=key, expected="no `labels` in the same file", remedy="Leave it out."
            )
        if self.num_examples and self.examples is None:
            raise ConfigError(
                "there is no file of examples", key="num_examples", expected="`examples` in the same file"
            )
        try:
            re.compile(self.answer or "")
        except re.error as error:
            raise ConfigError(f"no regular expression ({error})", key="answer", received=repr(self.answer)) from None
