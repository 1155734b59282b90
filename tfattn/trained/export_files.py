"""The files of an export that describe it: its configuration, its card, and the statistics of its training rows."""

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tfattn import files

EXTRA = "assets.extra"


class Purpose(NamedTuple):
    """What a task is for.

    Attributes:
        pipeline: the task by the names of the hub; "" for none. {kind} is text, tabular or image.
        sentence: what a model does.
    """

    pipeline: str
    sentence: str


PURPOSES = {
    "bert_pretraining": Purpose("fill-mask", "predicts masked tokens"),
    "bidirectional_language_modeling": Purpose("feature-extraction", "computes a vector for each word of a sentence"),
    "chat": Purpose("text-generation", "answers messages"),
    "classification": Purpose("{kind}-classification", "predicts the label of {unit}"),
    "embedding": Purpose("sentence-similarity", "computes a vector for a text"),
    "language_modeling": Purpose("text-generation", "continues texts"),
    "masked_lm": Purpose("fill-mask", "predicts masked tokens"),
    "multi_label_classification": Purpose("{kind}-classification", "predicts the labels, any number, of {unit}"),
    "multiple_choice": Purpose("multiple-choice", "chooses one of several texts"),
    "preference_optimization": Purpose("text-generation", "answers messages"),
    "question_answering": Purpose("question-answering", "finds the answer to a question in a text"),
    "ranking": Purpose("text-ranking", "scores documents for a query"),
    "regression": Purpose("{kind}-regression", "predicts a number for {unit}"),
    "token_classification": Purpose("token-classification", "finds entities in a text"),
    "translation": Purpose("translation", "translates texts"),
    "word2vec": Purpose("feature-extraction", "has a vector for each word"),
}
# The hub has no task for other regressions; transformers reads numbers of texts with a text classifier.
_REGRESSIONS = {"text-regression": "text-classification", "image-regression": ""}
_KINDS = {"images": ("image", "an image"), "table": ("tabular", "a row of a table")}


class ExportFiles:
    """The files of an export that describe it; an export of published weights lacks some of them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.config_text = (folder / EXTRA / "config.yaml").read_text(encoding="utf-8")
        self.config: dict[str, Any] = yaml.safe_load(self.config_text) or {}
        self.name: str = self.config.get("name", "model")
        self.task: str = self.config.get("task", {}).get("name", "")

    @cached_property
    def card(self) -> dict[str, Any]:
        """card.json."""
        return self._json("card.json")

    @cached_property
    def source(self) -> dict[str, Any]:
        """How the source file was read."""
        return self._json("source.json")

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """The histograms of the training rows, and the facts about their targets."""
        return self._json("statistics.json")

    @cached_property
    def parity(self) -> dict[str, Any]:
        """The comparison with the trained model."""
        return self._json("parity.json")

    @property
    def targets(self) -> dict[str, Any]:
        """The facts about the training targets."""
        return self.statistics.get("targets", {})

    @property
    def pipeline(self) -> str:
        """The task by the names of the hub; "" for none."""
        pipeline = PURPOSES[self.task].pipeline.format(kind=self._kind[0]) if self.task in PURPOSES else ""
        return _REGRESSIONS.get(pipeline, pipeline)

    @property
    def purpose(self) -> str:
        """What the model does; "" for the task of a plugin."""
        return PURPOSES[self.task].sentence.format(unit=self._kind[1]) if self.task in PURPOSES else ""

    @property
    def _kind(self) -> tuple[str, str]:
        preprocessing = self.config.get("data", {}).get("preprocessing", {}).get("name", "")
        return _KINDS.get(preprocessing, ("text", "a text"))

    def _json(self, name: str) -> dict[str, Any]:
        path = self.folder / EXTRA / name
        return files.read_json(path, dict[str, Any]) if path.is_file() else {}
