"""Prompt recipes: how a row of a file becomes a prompt, and what is written behind it an answer."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt

from tfattn.config.types import Seed
from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.client import input_rows

TARGET = "target"  # under which a row has its right answer
_COLUMN = re.compile(r"\{([^{}]*)\}")
Text = Annotated[str, Field(min_length=1)]
Stop = Annotated[str, Field(min_length=1, max_length=128)]


class Recipe:
    """A prompt for each row, with examples before it or none, and how its answer is read.

    Without `labels`, the answer is the likeliest text that the model writes behind the prompt. With them, it is the
    label whose words are the likeliest there.

    Args:
        template: the prompt of a row, with {COLUMN} for what stands in a column; spaces around that are cut off.
        labels: by the name of each label, the words that stand for it behind the prompt, with the space before them.
        per_token: whether words are compared by the average of their tokens, where they have unequally many.
        without: what stands in the columns where a row says nothing, such as "N/A". How likely the words are behind
            that is divided out (contextual calibration, Zhao et al. 2021). Null compares the words as they are.
        stop: texts before the first of which a written answer ends.
        max_new_tokens: the most tokens of a written answer.
        answer: a regular expression; what matches it, or the first group of it, is the answer. Null takes all.
        target: the column that holds the right answer of an example.
        examples: a file of rows with their right answers.
        num_examples: how many of them stand before the prompt; of each label the same number.
        seed: by which examples are chosen and put in order.
        instruction: what stands before all.
        separator: what stands between the instruction, the examples and the prompt.

    Raises:
        ConfigError: what does not go together.

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
        stop: tuple[Stop, ...] = (),
        max_new_tokens: PositiveInt = 64,
        answer: Text | None = None,
        target: Text = "label",
        examples: str | None = None,
        num_examples: NonNegativeInt = 0,
        seed: Seed = 0,
        instruction: str = "",
        separator: str = "\n\n",
    ):
        self.template, self.labels, self.per_token, self.without = template, labels, per_token, without
        self.stop, self.max_new_tokens, self.answer = tuple(stop), max_new_tokens, answer
        self.target, self.examples, self.num_examples, self.seed = target, examples, num_examples, seed
        self.instruction, self.separator = instruction, separator
        self._check()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the template names."""
        return tuple(dict.fromkeys(_COLUMN.findall(self.template)))

    def trained_on(self, *, has_target: bool) -> TrainingFile:
        """Say which columns of a file are read: those of the template, and the one of right answers or not."""
        return TrainingFile({name: name for name in self.columns} | ({TARGET: self.target} if has_target else {}))

    def chosen_examples(self) -> list[str]:
        """Read the examples, and choose those that stand before each prompt.

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
        """Make the prompt of a row.

        Args:
            row: a text for each column.
            examples: as `chosen_examples` returns them.
        """
        first = [self.instruction] if self.instruction else []
        return self.separator.join([*first, *examples, self._filled(row)])

    def read(self, written: str) -> str:
        """Read the answer in what was written; nothing where there is none."""
        if self.answer is None:
            return written.strip()
        found = re.search(self.answer, written)
        return found.group(found.re.groups and 1) or "" if found else ""

    def is_right(self, answer: str, target: str) -> bool:
        """Tell whether an answer is the right one, whatever its capitals and spaces are."""
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
            raise ConfigError("nothing is compared", key=key, expected="`labels` beside it", remedy="Leave it out.")
        if self.labels is not None and (self.stop or self.answer):
            key = "stop" if self.stop else "answer"
            raise ConfigError("nothing is written", key=key, expected="no `labels` beside it", remedy="Leave it out.")
        if self.num_examples and self.examples is None:
            raise ConfigError("there is no file of examples", key="num_examples", expected="`examples` beside it")
        try:
            re.compile(self.answer or "")
        except re.error as error:
            raise ConfigError(f"no regular expression ({error})", key="answer", received=repr(self.answer)) from None
