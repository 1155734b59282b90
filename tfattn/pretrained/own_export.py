"""Weights of an export of tfattn: a trained encoder or decoder."""

from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.config.moved import move
from tfattn.config.read import read_yaml
from tfattn.config.schema import SHARED_KEYS, keys_of
from tfattn.errors import CheckpointError
from tfattn.formats.training_file import TrainingFile
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary, tokens_by_id
from tfattn.pretrained.contract import Pretrained, read_json
from tfattn.pretrained.tensorflow_checkpoint import open_checkpoint

CONFIG, NAMES = "assets.extra/config.yaml", "assets.extra/weights.json"
SOURCE = "assets.extra/source.json"
TOKENIZER = "assets/tokenizer_config.json"
# The vocabulary files of preprocessors that can adopt one.
VOCABULARIES = {
    "wordpiece": "assets/vocab.txt",
    "byte_bpe": "assets/vocab.json",
    "spelled_words": "assets/vocab.json",
    "characters": "assets/vocab.json",
    "words": "assets/vocab.json",
}
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
        given = {key: value for key, value in self._model.items() if key not in ("name", *SHARED_KEYS["models"])}
        if "vocabulary_size" not in keys_of("models", self.model):
            return given  # a character-based model
        if self.preprocessor == "wordpiece":
            tokens = self._vocabulary.read_text(encoding="utf-8").split("\n")[:-1]
        else:
            tokens = read_json(self._vocabulary)
        return {**given, "vocabulary_size": len(tokens)}

    @property
    def model(self) -> str:
        return self._model["name"]

    @property
    def preprocessor(self) -> str:
        return self._config["data"]["preprocessing"]["name"]

    def tokenization(self) -> dict[str, Any]:
        if self.preprocessor in ("characters", "words"):
            return {"tokens": tokens_by_id(read_json(self._vocabulary), str(self._vocabulary))}
        settings = self._json(TOKENIZER)
        if self.preprocessor == "byte_bpe":
            end = self._setting(settings, "eos_token", TOKENIZER)
            special = [end, *self._setting(settings, "additional_special_tokens", TOKENIZER)]
            pattern = self._setting(settings, "pattern", TOKENIZER)
            known = ByteVocabulary.read(self._vocabulary, special=special)
            return {"vocabulary": known, "pattern": pattern, "end_token": end}
        return {
            "vocabulary": self._vocabulary,
            "lower_case": bool(self._setting(settings, "do_lower_case", TOKENIZER)),
            "strip_accents": bool(self._setting(settings, "strip_accents", TOKENIZER)),
        }

    @property
    def max_length(self) -> int:
        return int(self._setting(self._json(TOKENIZER), "model_max_length", TOKENIZER))

    @property
    def trained_on(self) -> TrainingFile:
        return TrainingFile.read(self._existing(SOURCE), remedy="Export the model again.")

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        keys = self._keys()
        with open_checkpoint(self.folder / WEIGHTS) as reader:
            shapes = reader.get_variable_to_shape_map()
        return {name: tuple(shapes[key]) for name, key in keys.items() if key in shapes}

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        stored_name = f"{self._json(NAMES)['model']}/{path}"
        return (stored_name if stored_name in stored else path,)

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        keys = self._keys()
        with open_checkpoint(self.folder / WEIGHTS) as reader:
            return {name: reader.get_tensor(keys[name]) for name in names}

    @cached_property
    def _config(self) -> dict[str, Any]:
        tree = read_yaml(self._existing(CONFIG))
        move(tree)
        return tree.values

    @property
    def _model(self) -> dict[str, Any]:
        return self._config["model"]

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
