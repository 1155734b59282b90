"""A language model that is asked by a recipe, as `tfattn predict` asks any model."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfattn.features import TEXT
from tfattn.sampling_params import SamplingParams
from tfattn.serving.client.predict import Predictor
from tfattn.serving.client.recipe import TARGET, Recipe

CONTINUATION, SCORE, LENGTH = "continuation", "score", "length"
# The likeliest text, whatever the export does where a request says nothing.
LIKELIEST = vars(SamplingParams(temperature=0.0)) | {"seed": 0}


class PromptedModel:
    """A model that answers rows by a recipe.

    Args:
        model: a language model.
        recipe: how it is asked.
        has_targets: whether rows have their right answers beside.

    Attributes:
        num_rows, num_right: how many rows with right answers there have been, and how many were answered so.
        trained_on, numeric, lists, files, writes_text: as those of the model, for the rows of the recipe.

    Raises:
        DataError: there are no such examples.
        RefusedError: the model has no room for them.
    """

    numeric = lists = files = frozenset[str]()

    def __init__(self, model: Predictor, recipe: Recipe, *, has_targets: bool):
        self.trained_on = recipe.trained_on(has_target=has_targets)
        self.writes_text = recipe.labels is None
        self.num_rows = self.num_right = 0
        self._model, self._recipe = model, recipe
        self._examples = recipe.chosen_examples()
        self._before = [0.0] * len(recipe.labels or ())  # how likely the words of labels are where a row says nothing
        if recipe.without is not None:
            (self._before,) = self._compared([dict.fromkeys(recipe.columns, recipe.without)])

    def predict(self, rows: Sequence[Mapping[str, str]], **_: Any) -> list[dict[str, Any]]:
        """Answer rows.

        Returns:
            for each, the `text` that was written and read, or the `label`, its `score`, and the `scores` of all.
        """
        answers = list(self._written(rows) if self.writes_text else self._labels(rows))
        for row, answer in zip(rows, answers, strict=True):
            if TARGET in row:
                self.num_rows += 1
                self.num_right += self._recipe.is_right(answer[TEXT if self.writes_text else "label"], row[TARGET])
        return answers

    def _written(self, rows: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
        settings = LIKELIEST | {"max_new_tokens": self._recipe.max_new_tokens, "stop": list(self._recipe.stop) or [""]}
        asked = [{TEXT: self._prompt(row), **settings} for row in rows]
        for answer in self._model.predict(asked):
            yield {TEXT: self._recipe.read(answer[TEXT])}

    def _labels(self, rows: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
        names = list(self._recipe.labels)
        for compared in self._compared(rows):
            values = [value - before for value, before in zip(compared, self._before, strict=True)]
            most = max(values)
            total = sum(math.exp(value - most) for value in values)
            scores = {name: math.exp(value - most) / total for name, value in zip(names, values, strict=True)}
            label = max(scores, key=scores.get)
            yield {"label": label, "score": scores[label], "scores": scores}

    def _compared(self, rows: Sequence[Mapping[str, str]]) -> list[list[float]]:
        """Compute the logarithm of how likely the words of each label are behind the prompt of each row."""
        words = list(self._recipe.labels.values())
        prompts = [self._prompt(row) for row in rows]
        asked = [{TEXT: prompt, CONTINUATION: word} for prompt in prompts for word in words]
        told = self._model.predict(asked, signature=SCORE)
        values = [one[SCORE] / (one[LENGTH] if self._recipe.per_token else 1) for one in told]
        return [values[start : start + len(words)] for start in range(0, len(values), len(words))]

    def _prompt(self, row: Mapping[str, str]) -> str:
        return self._recipe.prompt(row, examples=self._examples)
