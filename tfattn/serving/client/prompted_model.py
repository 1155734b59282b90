"""A language model with a prompt recipe, with the interface of other models for `tfattn predict`."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfattn.features import TEXT
from tfattn.sampling_params import SamplingParams
from tfattn.serving.client.predict import Predictor
from tfattn.serving.client.recipe import TARGET, Recipe

CONTINUATION, SCORE, LENGTH = "continuation", "score", "length"
# Greedy decoding, whatever the defaults of the export are.
GREEDY = SamplingParams(temperature=0.0).of_logits | {"seed": 0}
LIMIT = ("max_tokens", "max_new_tokens")  # earlier exports have the second name only


class PromptedModel:
    """A language model that answers rows by a prompt recipe.

    Args:
        model: the language model.
        recipe: the recipe.
        has_targets: whether rows have targets.

    Attributes:
        num_rows, num_right: the number of rows with targets, and of correct answers.
        trained_on, numeric, lists, files, writes_text: see `LocalModel`, for the rows of the recipe.

    Raises:
        DataError: the examples cannot be read.
        RefusedError: the examples exceed the model's context.
    """

    numeric = lists = files = frozenset[str]()

    def __init__(self, model: Predictor, recipe: Recipe, *, has_targets: bool):
        self.trained_on = recipe.trained_on(has_target=has_targets)
        self.writes_text = recipe.labels is None
        self.num_rows = self.num_right = 0
        self._model, self._recipe = model, recipe
        self._examples = recipe.chosen_examples()
        self._before = [0.0] * len(recipe.labels or ())  # log probabilities of the labels for an empty row
        if recipe.without is not None:
            (self._before,) = self._log_probabilities([dict.fromkeys(recipe.columns, recipe.without)])

    def predict(self, rows: Sequence[Mapping[str, str]], **_: Any) -> list[dict[str, Any]]:
        """Answer rows.

        Returns:
            the `text` of each row, or the `label`, its `score`, and the `scores` of all labels.
        """
        answers = list(self._texts(rows) if self.writes_text else self._labels(rows))
        for row, answer in zip(rows, answers, strict=True):
            if TARGET in row:
                self.num_rows += 1
                self.num_right += self._recipe.is_right(answer[TEXT if self.writes_text else "label"], row[TARGET])
        return answers

    def _texts(self, rows: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
        settings = GREEDY | dict.fromkeys(LIMIT, self._recipe.max_tokens) | {"stop": list(self._recipe.stop) or [""]}
        asked = [{TEXT: self._prompt(row), **settings} for row in rows]
        for answer in self._model.predict(asked):
            yield {TEXT: self._recipe.read(answer[TEXT])}

    def _labels(self, rows: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
        names = list(self._recipe.labels)
        for found in self._log_probabilities(rows):
            values = [value - before for value, before in zip(found, self._before, strict=True)]
            most = max(values)
            total = sum(math.exp(value - most) for value in values)
            scores = {name: math.exp(value - most) / total for name, value in zip(names, values, strict=True)}
            label = max(scores, key=scores.get)
            yield {"label": label, "score": scores[label], "scores": scores}

    def _log_probabilities(self, rows: Sequence[Mapping[str, str]]) -> list[list[float]]:
        """Compute the log probability of the words of each label after the prompt of each row."""
        words = list(self._recipe.labels.values())
        prompts = [self._prompt(row) for row in rows]
        asked = [{TEXT: prompt, CONTINUATION: word} for prompt in prompts for word in words]
        scored = self._model.predict(asked, signature=SCORE)
        values = [row[SCORE] / (row[LENGTH] if self._recipe.per_token else 1) for row in scored]
        return [values[start : start + len(words)] for start in range(0, len(values), len(words))]

    def _prompt(self, row: Mapping[str, str]) -> str:
        return self._recipe.prompt(row, examples=self._examples)
