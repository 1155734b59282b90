"""The check that a written folder is read as the model that was written, without other libraries."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from tokenizers import Tokenizer

from tfattn import pretrained, registry
from tfattn.errors import ExportError
from tfattn.features import LOGITS, SEQUENCE_OUTPUT, TOKEN_IDS
from tfattn.preprocessing.preprocessor import PRETRAINED
from tfattn.pretrained.contract import read_json
from tfattn.pretrained.hugging_face import HuggingFaceFolder
from tfattn.pretrained.hugging_face_tokens import SETTINGS, TOKENIZER
from tfattn.sharing.probes import Probe
from tfattn.sharing.worker import different

# Some architectures store weights times a constant, such as the width of T5.
_ROUNDING = {"rtol": 1e-4, "atol": 1e-5}


def check_weights(folder: Path, written: HuggingFaceFolder, values: Mapping[str, np.ndarray]) -> None:
    """Check that `pretrained:` reads the same weights from a folder.

    Raises:
        ExportError: a weight differs, or another architecture is read.
    """
    found = pretrained.open(folder)
    if type(found) is not type(written):
        raise _unequal("the architecture", type(written).__name__, type(found).__name__)
    stored = found.stored_shapes()
    for path, value in values.items():
        names = found.stored_names(path, stored)
        tensors = found.read(names)
        read = np.concatenate([tensors[name] for name in names], axis=-1)
        if read.shape != value.shape or not np.allclose(read, value, **_ROUNDING):
            raise _unequal(path, "the weight of the export", f"another from {', '.join(names)}")


def check_outputs(folder: Path, model: keras.Model, probe: Probe) -> None:
    """Check that a model with the weights of a folder computes the same vectors or logits.

    Raises:
        ExportError: an output differs.
    """
    found = pretrained.open(folder)
    other = registry.find("models", found.model)(**found.sizes())
    found.load_into(other, [other.pooler] if hasattr(other, "pooler") else [])
    expected, received = model(probe.features), other(probe.features)
    for name in {SEQUENCE_OUTPUT, LOGITS} & expected.keys():
        if not np.allclose(expected[name], received[name], **_ROUNDING):
            largest = float(np.abs(np.asarray(expected[name]) - np.asarray(received[name])).max())
            raise _unequal(name, "the outputs of the export", f"outputs that differ by up to {largest:.3g}")


def check_ids(folder: Path, probe: Probe) -> None:
    """Check that the tokenizer of a folder gives the ids of the preprocessing.

    Raises:
        ExportError: the ids of a text differ.
    """
    for texts, ids, found in zip(probe.texts, probe.ids, _ids(folder, probe), strict=True):
        if found != ids:
            raise _unequal(repr(texts), f"the ids {ids}", str(found))


def _ids(folder: Path, probe: Probe) -> Iterator[list[int]]:
    """Yield the ids of texts by tokenizer.json, or else by the preprocessing that `pretrained:` reads."""
    if (folder / TOKENIZER).is_file():
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        direction = read_json(folder / SETTINGS).get("truncation_side", "right")
        tokenizer.enable_truncation(probe.max_length, direction=direction)
        yield from (tokenizer.encode(*texts).ids for texts in probe.texts)
        return
    weights = pretrained.open(folder)
    preprocessor = registry.find("preprocessors", weights.preprocessor)(
        vocabulary=PRETRAINED, max_length=probe.max_length
    )
    preprocessor.adopt(**weights.tokenization())
    preprocessor.fit([])
    for (text,) in probe.texts:
        yield preprocessor({preprocessor.fields[0]: tf.constant([text])})[TOKEN_IDS][0].numpy().tolist()


def _unequal(where: str, expected: str, received: str) -> ExportError:
    what = "the folder is not read as it was written"
    return different(what, where=where, expected=expected, received=received)
