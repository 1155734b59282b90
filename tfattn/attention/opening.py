"""Opening models for attention: exports, servers, runs and published weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfattn import catalog, files, hub, pretrained, published, registry, stages
from tfattn.errors import CheckpointError, ConfigError, DataError
from tfattn.export.attention import ATTENTION, AttentionSpec, add_segments, signatures
from tfattn.export.servable_model import ServableModel
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

TEXTS = (QUESTION, TEXT, TEXT_A, TEXT_B, CONTEXT, TARGET)  # text inputs, in the order of a pair

Ask = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Opened:
    """An opened model.

    Args:
        title: the name in pictures.
        where: the name in messages.
        inputs: whether each input of the signature `attention` is a number, by name, in order; empty without the
            signature.
        signatures: the names of the signatures.
        ask: returns the outputs of a signature, arrays or nested lists, for the inputs of one row.
    """

    title: str
    where: str
    inputs: Mapping[str, bool]
    signatures: Sequence[str]
    ask: Ask


def open_model(model: str, *, pair: bool, folder: Path, token_file: Path | None = None) -> Opened:
    """Open a model by name, path or address.

    Args:
        model: an export's folder or name, a run's folder, a published model or a folder of weights, or the address of a
            model on a hub or on a server.
        pair: whether to read pairs of texts, for models that support both.
        folder: the folder of all exports.
        token_file: a file with the bearer token of the server.

    Raises:
        ConfigError, ServingError: the model does not exist.
    """
    if hub.is_address(model):
        return _open_weights(pretrained.open(model), model, pair)
    if "://" in model:
        return _remote(model, token_file)
    if (Path(model) / CONFIG).is_file() and (Path(model) / "checkpoints").exists():
        return _open_run(Path(model))
    if model in catalog.PRETRAINED_PACKAGES or (Path(model).exists() and _is_published(Path(model))):
        return _open_weights(pretrained.open(model), model, pair)
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


def _open_run(folder: Path) -> Opened:
    run = stages.open_run(folder / CONFIG, None)
    if run.folder.resolve() != folder.resolve():
        raise ConfigError(
            "the data or settings of the run have changed",
            where=str(folder),
            expected=str(folder),
            received=str(run.folder),
            remedy="Run the command in the folder of the training, with the same data; or use the export of the run.",
        )
    served: ServableModel = registry.find("served", run.config.values["task"]["name"])(load(run))
    return _from_functions(run.name, str(folder), served.signatures() | served.attention_signatures())


def _open_weights(source: Pretrained, name: str, pair: bool) -> Opened:
    kind = registry.find("models", source.model)
    if issubclass(kind, Encoder):
        spec = _encoder(source, (TEXT_A, TEXT_B) if pair else (TEXT,))
    elif issubclass(kind, Decoder):
        spec = _decoder(source)
    else:
        raise CheckpointError("the model is neither an encoder nor a decoder", where=name, received=source.model)
    return _from_functions(Path(name).name, name, signatures(spec))


def _encoder(source: Pretrained, fields: tuple[str, ...]) -> AttentionSpec:
    encoder = TextEncoder.open(source, pooling="mean", fields=fields)
    tokenizer = encoder.tokenizer
    labels = source_token_labels(tokenizer)

    def read(*texts: tf.Tensor) -> tuple[dict, dict]:
        given = dict(zip(fields, texts, strict=True))
        return padded(tokenizer(given)), {"truncated": tokenizer.truncated(given)}

    def label_tokens(features: Mapping[str, tf.Tensor]) -> dict:
        real = features[PADDING_MASK]
        return add_segments(labels(features[TOKEN_IDS], real), features[SEGMENT_IDS], real)

    return AttentionSpec(model=encoder.model, inputs=_texts(fields), read=read, labels=label_tokens)


def _decoder(source: Pretrained) -> AttentionSpec:
    language, task = published.build(source)
    labels = source_token_labels(language)

    def read(text: tf.Tensor) -> tuple[dict, dict]:
        ids, max_length = rendered_chat_ids(language, text), task.model.max_sequence_length
        return padded({TOKEN_IDS: ids[:, :max_length]}), {"truncated": ids.row_lengths() > max_length}

    def label_tokens(features: Mapping[str, tf.Tensor]) -> dict:
        ids, real = features[TOKEN_IDS], features[PADDING_MASK]
        return add_segments(labels(ids, real), tf.zeros_like(ids), real)

    return AttentionSpec(
        model=task.model,
        inputs=_texts((TEXT,)),
        read=read,
        labels=label_tokens,
        names=language.token_bytes,
        scores_to_explain=task.scores_to_explain,
    )


def _from_functions(title: str, where: str, functions: Mapping[str, Any]) -> Opened:
    """Wrap batch functions of tensors as a model."""
    specs = functions[ATTENTION].input_signature if ATTENTION in functions else ()
    inputs = {spec.name: spec.dtype != tf.string for spec in specs}

    def ask(signature: str, row: Mapping[str, Any]) -> dict[str, Any]:
        function = functions[signature]
        given = [tf.constant([row[spec.name]], spec.dtype) for spec in function.input_signature]
        try:
            return {name: value.numpy()[0] for name, value in function(*given).items()}
        except tf.errors.InvalidArgumentError as error:
            raise DataError("the model does not accept the input", where=where, received=error.message) from None

    return Opened(title, where, _in_order(inputs), tuple(functions), ask)


def _inputs(model: Any) -> dict[str, bool]:
    return _in_order(model.inputs_of(ATTENTION)) if ATTENTION in model.signatures else {}


def _in_order(inputs: Mapping[str, bool]) -> dict[str, bool]:
    """Sort text inputs in reading order: a SavedModel has its inputs in alphabetical order."""
    order = {name: number for number, name in enumerate(TEXTS)}
    return {name: inputs[name] for name in sorted(inputs, key=lambda name: order.get(name, -1))}


def _texts(fields: Sequence[str]) -> list[tf.TensorSpec]:
    return [tf.TensorSpec([None], tf.string, name=name) for name in fields]


def _is_published(path: Path) -> bool:
    """Return whether a path has published weights, as opposed to an export."""
    return not OwnExport.matches(path) and not files.numbered(path) and not (path / "saved_model.pb").is_file()
