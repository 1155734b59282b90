"""Models that can be asked what they look at: exports, servers, runs, and published weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfattn import catalog, files, pretrained, published, registry, stages
from tfattn.errors import CheckpointError, ConfigError, DataError
from tfattn.export.attention import ATTENTION, Shown, signatures, with_segments
from tfattn.export.served import Served
from tfattn.features import (
    CONTEXT,
    PADDING_MASK,
    QUESTION,
    SEGMENT_IDS,
    TARGET,
    TEXT,
    TEXT_A,
    TEXT_B,
    TOKEN_IDS,
)
from tfattn.models.contracts.decoder import Decoder
from tfattn.models.contracts.encoder import Encoder
from tfattn.preprocessing.chat_ids import rendered_chat_ids
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.token_labels import source_token_labels
from tfattn.pretrained.contract import Pretrained
from tfattn.pretrained.own_export import OwnExport
from tfattn.serving.client import local
from tfattn.serving.client.remote import RemoteModel
from tfattn.trained.ensemble import load
from tfattn.vectors.text_encoder import TextEncoder

CONFIG = "config.yaml"  # in the folder of a run

TEXTS = (QUESTION, TEXT, TEXT_A, TEXT_B, CONTEXT, TARGET)  # inputs, the first of a pair before the second

Ask = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Opened:
    """A model that can be asked.

    Args:
        title: what pictures call it, and
        where: what messages call it.
        inputs: of the signature `attention`, in the order in which people give them, and whether each is a number;
            none where it has no such signature.
        signatures: the names of what it can be asked.
        ask: takes the name of a signature and the inputs of one row; gives the outputs, arrays or nested lists.
    """

    title: str
    where: str
    inputs: Mapping[str, bool]
    signatures: Sequence[str]
    ask: Ask


def opened(model: str, *, pair: bool, folder: Path, token_file: Path | None = None) -> Opened:
    """Open a model by what a user calls it.

    Args:
        model: an export's folder or name, a run's folder, a published model or a folder of weights, or an address.
        pair: whether it is to read two texts, where it takes either.
        folder: that of all exports.
        token_file: a file with the bearer token, where a server asks for one.

    Raises:
        ConfigError, ServingError: there is no such model.
    """
    if "://" in model:
        return _remote(model, token_file)
    if (Path(model) / CONFIG).is_file() and (Path(model) / "checkpoints").exists():
        return _of_run(Path(model))
    if model in catalog.PRETRAINED_PACKAGES or (Path(model).exists() and _is_published(Path(model))):
        return _of_weights(pretrained.open(model), model, pair)
    return _local(model, folder)


def _remote(address: str, token_file: Path | None) -> Opened:
    model = RemoteModel(address, token_file=token_file)

    def ask(signature: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
        return model.predict([row], signature=signature)[0]

    return Opened(Path(address).name, address, _inputs(model), model.signatures, ask)


def _local(name: str, folder: Path) -> Opened:
    model = local.load(name, folder)

    def ask(signature: str, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: values[0] for name, values in model.arrays([row], signature=signature).items()}

    return Opened(model.folder.resolve().parent.name, str(model.folder), _inputs(model), model.signatures, ask)


def _of_run(folder: Path) -> Opened:
    run = stages.open_run(folder / CONFIG, None)
    if run.folder.resolve() != folder.resolve():
        raise ConfigError(
            "the run's data or settings have changed since",
            where=str(folder),
            expected=str(folder),
            received=str(run.folder),
            remedy="Start it where it was started, with the data that it was trained on; or ask its export.",
        )
    served: Served = registry.find("served", run.config.values["task"]["name"])(load(run))
    return _of_functions(run.name, str(folder), served.signatures() | served.views())


def _of_weights(source: Pretrained, name: str, pair: bool) -> Opened:
    kind = registry.find("models", source.model)
    if issubclass(kind, Encoder):
        shown = _encoder(source, (TEXT_A, TEXT_B) if pair else (TEXT,))
    elif issubclass(kind, Decoder):
        shown = _decoder(source)
    else:
        raise CheckpointError("these are no weights of an encoder or a decoder", where=name, received=source.model)
    return _of_functions(Path(name).name, name, signatures(shown))


def _encoder(source: Pretrained, fields: tuple[str, ...]) -> Shown:
    encoder = TextEncoder.open(source, pooling="mean", fields=fields)
    tokenizer = encoder.tokenizer
    labels = source_token_labels(tokenizer)

    def read(*texts: tf.Tensor) -> tuple[dict, dict]:
        given = dict(zip(fields, texts, strict=True))
        return padded(tokenizer(given)), {"truncated": tokenizer.truncated(given)}

    def labelled(features: Mapping[str, tf.Tensor]) -> dict:
        real = features[PADDING_MASK]
        return with_segments(labels(features[TOKEN_IDS], real), features[SEGMENT_IDS], real)

    return Shown(model=encoder.model, inputs=_texts(fields), read=read, labels=labelled)


def _decoder(source: Pretrained) -> Shown:
    language, task = published.built(source)
    labels = source_token_labels(language)

    def read(text: tf.Tensor) -> tuple[dict, dict]:
        ids, most = rendered_chat_ids(language, text), task.model.max_sequence_length
        return padded({TOKEN_IDS: ids[:, :most]}), {"truncated": ids.row_lengths() > most}

    def labelled(features: Mapping[str, tf.Tensor]) -> dict:
        ids, real = features[TOKEN_IDS], features[PADDING_MASK]
        return with_segments(labels(ids, real), tf.zeros_like(ids), real)

    return Shown(
        model=task.model,
        inputs=_texts((TEXT,)),
        read=read,
        labels=labelled,
        names=language.token_bytes,
        scores_to_explain=task.scores_to_explain,
    )


def _of_functions(title: str, where: str, functions: Mapping[str, Any]) -> Opened:
    """Ask functions of tensors, which are made for batches."""
    specs = functions[ATTENTION].input_signature if ATTENTION in functions else ()
    inputs = {spec.name: spec.dtype != tf.string for spec in specs}

    def ask(signature: str, row: Mapping[str, Any]) -> dict[str, Any]:
        function = functions[signature]
        given = [tf.constant([row[spec.name]], spec.dtype) for spec in function.input_signature]
        try:
            return {name: value.numpy()[0] for name, value in function(*given).items()}
        except tf.errors.InvalidArgumentError as error:
            raise DataError("the model does not take this", where=where, received=error.message) from None

    return Opened(title, where, _in_order(inputs), tuple(functions), ask)


def _inputs(model: Any) -> dict[str, bool]:
    return _in_order(model.inputs_of(ATTENTION)) if ATTENTION in model.signatures else {}


def _in_order(inputs: Mapping[str, bool]) -> dict[str, bool]:
    """Sort texts as they are read: a SavedModel has its inputs in the order of their names."""
    place = {name: number for number, name in enumerate(TEXTS)}
    return {name: inputs[name] for name in sorted(inputs, key=lambda name: place.get(name, -1))}


def _texts(fields: Sequence[str]) -> list[tf.TensorSpec]:
    return [tf.TensorSpec([None], tf.string, name=name) for name in fields]


def _is_published(path: Path) -> bool:
    """Tell weights of others from our exports, which answer by themselves."""
    return not OwnExport.matches(path) and not files.numbered(path) and not (path / "saved_model.pb").is_file()
