"""Weights of an export of tfattn: a trained encoder or decoder."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.config.moved import move
from tfattn.config.read import read_yaml
from tfattn.config.schema import ADAPTER, SHARED_KEYS, keys_of
from tfattn.errors import CheckpointError
from tfattn.formats.chat_template import CHATML
from tfattn.formats.training_file import TrainingFile
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary, tokens_by_id
from tfattn.preprocessing.piece_vocabulary import PieceVocabulary
from tfattn.preprocessing.published_vocabulary import PublishedVocabulary
from tfattn.pretrained.contract import Pretrained, read_json
from tfattn.pretrained.tensor_files import TensorFlowCheckpoint

CONFIG, NAMES = "assets.extra/config.yaml", "assets.extra/weights.json"
SOURCE = "assets.extra/source.json"
TOKENIZER = "assets/tokenizer_config.json"
# The vocabulary files of preprocessors that can adopt a vocabulary.
VOCABULARIES = {
    "wordpiece": "assets/vocab.txt",
    "pretrained_tokenizer": "assets/tokenizer.json",
    "byte_bpe": "assets/vocab.json",
    "piece_bpe": "assets/tokenizer.model",
    "spelled_words": "assets/vocab.json",
    "characters": "assets/vocab.json",
    "words": "assets/vocab.json",
}
# The vocabularies of `sentencepiece`, by whether they are joint; only published vocabularies can be adopted.
SIDES = {True: ("sentencepiece",), False: ("source", "target")}
WEIGHTS = "variables/variables"
_KEY = "weights/{}/.ATTRIBUTES/VARIABLE_VALUE"


class OwnExport(Pretrained):
    """A version of a model under saved_models/, or the newest version of a model; the SavedModel is never run.

    Args:
        folder: an existing folder that `matches`.
    """

    description = f"a version under saved_models/ with {NAMES} (an export)"
    weights = (f"{WEIGHTS}.index", f"{WEIGHTS}.data-*")

    def __init__(self, folder: Path):
        super().__init__(_version(Path(folder)))

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (_version(folder) / NAMES).is_file()

    def sizes(self) -> dict[str, Any]:
        if self._model.get(ADAPTER) and not self.config["export"]["merge_adapter"]:
            raise CheckpointError(
                "the adapter of the export is not merged",
                where=str(self.folder),
                expected="`export.merge_adapter: true`",
                received="false",
                remedy="Export again: tfattn export PIPELINE --set export.merge_adapter=true.",
            )
        given = {key: value for key, value in self._model.items() if key not in ("name", *SHARED_KEYS["models"])}
        if "vocabulary_size" not in keys_of("models", self.model):
            return given  # a character-based model
        if self.preprocessor == "pretrained_tokenizer" and "vocabulary_size" in given:
            return given  # the vocabulary may have fewer tokens
        if self._published_sides:
            tokens, target_tokens = (self._published_sides[index].tokens for index in (0, -1))
            return {**given, "vocabulary_size": len(tokens), "target_vocabulary_size": len(target_tokens)}
        if self.preprocessor == "wordpiece":
            tokens = self._vocabulary.read_text(encoding="utf-8").split("\n")[:-1]
        elif self.preprocessor == "piece_bpe":
            tokens = self._pieces.tokens
        else:
            tokens = read_json(self._vocabulary)
        return {**given, "vocabulary_size": len(tokens)}

    @property
    def model(self) -> str:
        return self._model["name"]

    @property
    def preprocessor(self) -> str:
        return self.config["data"]["preprocessing"]["name"]

    def tokenization(self) -> dict[str, Any]:
        if self.preprocessor in ("characters", "words"):
            return {"tokens": tokens_by_id(read_json(self._vocabulary), str(self._vocabulary))}
        if self._published_sides:
            return {"vocabularies": self._published_sides}
        settings = self._json(TOKENIZER)
        if self.preprocessor == "pretrained_tokenizer":
            text = self._vocabulary.read_text(encoding="utf-8")
            others = {name: self._setting(settings, name, TOKENIZER) for name in ("mask_token", "vocabulary_size")}
            return {"tokenizer": text, **others}
        if self.preprocessor in ("byte_bpe", "piece_bpe"):
            ends = {"end_token": self._setting(settings, "eos_token", TOKENIZER)}
            ends |= {"start_token": settings.get("bos_token"), "chat_format": settings.get("chat_format", CHATML)}
            if self.preprocessor == "piece_bpe":
                return {"vocabulary": self._pieces, **ends}
            return {**self._byte_bpe(settings, [ends["end_token"], ends["start_token"]]), **ends}
        return {
            "vocabulary": self._vocabulary,
            "lower_case": bool(self._setting(settings, "do_lower_case", TOKENIZER)),
            "strip_accents": bool(self._setting(settings, "strip_accents", TOKENIZER)),
        }

    def decoding(self) -> dict[str, Any]:
        """Return the search for texts of the export, if it has one."""
        return self.config.get("task", {}).get("decoding") or {}

    @property
    def max_length(self) -> int:
        return int(self._setting(self._json(TOKENIZER), "model_max_length", TOKENIZER))

    @property
    def trained_on(self) -> TrainingFile:
        return TrainingFile.read(self._existing(SOURCE), remedy="Export the model again.")

    @property
    def tensor_file(self) -> TensorFlowCheckpoint:
        return TensorFlowCheckpoint(self.folder / WEIGHTS)

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        keys, shapes = self._keys(), self.tensor_file.shapes()
        return {name: shapes[key] for name, key in keys.items() if key in shapes}

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        stored_name = f"{self._json(NAMES)['model']}/{path}"
        return (stored_name if stored_name in stored else path,)

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        keys = self._keys()
        tensors = self.tensor_file.read([keys[name] for name in names])
        return {name: tensors[keys[name]] for name in names}

    @cached_property
    def config(self) -> dict[str, Any]:
        """The resolved configuration of the pipeline."""
        tree = read_yaml(self._existing(CONFIG))
        move(tree)
        return tree.values

    @property
    def _model(self) -> dict[str, Any]:
        return self.config["model"]

    @cached_property
    def _published_sides(self) -> list[PublishedVocabulary]:
        """The published vocabularies of sources and targets, or a joint vocabulary; empty if there are none."""
        settings = self._json(TOKENIZER) if self.preprocessor == "sentencepiece" else {}
        names = SIDES[settings["joint"]] if settings.get("published") else ()
        return [PublishedVocabulary.read(self.folder / "assets", name) for name in names]

    @property
    def _pieces(self) -> PieceVocabulary:
        read = PieceVocabulary.read(self._vocabulary.read_bytes(), where=str(self._vocabulary))
        return replace(read, prefix=self._setting(self._json(TOKENIZER), "prefix", TOKENIZER))

    def _byte_bpe(self, settings: dict[str, Any], ends: list[str | None]) -> dict[str, Any]:
        special = [*(end for end in ends if end), *self._setting(settings, "additional_special_tokens", TOKENIZER)]
        known = ByteVocabulary.read(
            self._vocabulary,
            special=list(dict.fromkeys(special)),
            text_tokens=settings.get("text_tokens", ()),
            has_whole_pieces=settings.get("has_whole_pieces", False),
        )
        pattern = self._setting(settings, "pattern", TOKENIZER)
        return {"vocabulary": known, "pattern": pattern, "normalization": settings.get("normalization")}

    @property
    def _vocabulary(self) -> Path:
        if self.preprocessor not in VOCABULARIES:
            raise CheckpointError(
                "the vocabulary of the export cannot be adopted",
                where=str(self.folder),
                expected=f"the vocabulary of {', '.join(VOCABULARIES)}",
                received=self.preprocessor,
            )
        return self._existing(VOCABULARIES[self.preprocessor])

    def _keys(self) -> dict[str, str]:
        """Map the names of weights to the names of tensors in the SavedModel."""
        paths = self._json(NAMES)["weights"]
        if len(set(paths)) < len(paths):
            raise CheckpointError(
                "the export holds several models",
                where=str(self.folder),
                expected="a single model",
                remedy="Export a single model, without `ensemble`.",
            )
        return {path: _KEY.format(number) for number, path in enumerate(paths)}


def _version(folder: Path) -> Path:
    """Return the newest version of a model's folder, or the folder itself if it has no versions."""
    versions = files.numbered(folder)
    return versions[max(versions)] if versions else folder
