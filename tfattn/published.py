"""Export of published weights without a pipeline: for generation, for translation, and for masked tokens."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import yaml

from tfattn import console, files, hub, pretrained, registry
from tfattn.config.checksum import checksummed
from tfattn.errors import ConfigError, listed
from tfattn.export import litert_bundle, litert_version, saved_model
from tfattn.export.fill_mask import FillMask
from tfattn.export.generation import Generator
from tfattn.export.litert_decoder import write_decoder
from tfattn.export.litert_perplexity import TEXTS
from tfattn.export.section import Export
from tfattn.export.servable_model import ServableModel
from tfattn.export.translation import Translator
from tfattn.features import SOURCE, TEXT
from tfattn.models.contracts.decoder import Decoder
from tfattn.models.contracts.encoder import PretrainableEncoder
from tfattn.models.contracts.encoder_decoder import EncoderDecoder
from tfattn.models.contracts.model import Model
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.encoder_tokens import EncoderTokens
from tfattn.preprocessing.language import Language
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.pretrained.contract import Pretrained
from tfattn.tasks.decoding import Decoding
from tfattn.tasks.language_modeling import LanguageModeling
from tfattn.tasks.masked_lm import MaskedLm
from tfattn.tasks.translation import Translation
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.training.precision import precision_scope

LANGUAGE_MODELING, MASKED_LM, TRANSLATION = "language_modeling", "masked_lm", "translation"
# Prompts of the parity check of the export.
PARITY_PROMPTS = ("The capital of France is", "Once upon a time", "def add(a, b):", "3 + 4 =", "", "日本の首都は")
MASKED_TEXTS = ("The capital of France is [MASK].", "[MASK] upon a [MASK]", "等到潮水 [MASK] 了，就知道誰沒穿褲子。")


def find_or_export(address: str, *, folder: Path, task: str = LANGUAGE_MODELING, for_litert: bool = False) -> Path:
    """Return the export of a model on a hub, which is exported first if there is none yet.

    The hub is not asked again for an export of an address without a revision: name a revision to export another.

    Args:
        address: the address of the weights.
        folder: the folder of all exports.
        task, for_litert: as for `export`.

    Returns:
        the folder of the version.

    Raises:
        ConfigError: the name of the model is the name of another export. Also the errors of `export`.
    """
    asked = hub.parse(address)
    if isinstance(asked, hub.HubAddress) and asked.revision and not asked.is_pinned:
        asked = hub.open(address).address
    name = _name(asked)
    found = {version: _made_of(version) for version in reversed(files.numbered(folder / name).values())}
    for version, made_of in found.items():
        if made_of and hub.is_same(asked, hub.parse(made_of)):
            return version
    if found and not all(made_of and hub.is_same_model(asked, hub.parse(made_of)) for made_of in found.values()):
        raise ConfigError(
            "another model has the name of this export",
            where=str(folder / name),
            expected=f"an export of {address}",
            received=listed({made_of or "another model" for made_of in found.values()}),
            remedy="Name another folder with --folder.",
        )
    return export(address, folder=folder, name=name, task=task, for_litert=for_litert)


def export(
    weights: str | Path,
    *,
    folder: Path,
    name: str | None = None,
    task: str = LANGUAGE_MODELING,
    for_litert: bool = False,
) -> Path:
    """Export published weights to `<folder>/<name>/<version>/`, with the checks of every export.

    Args:
        weights: as for `pretrained.open`.
        folder: the folder of all exports.
        name: the name of the model; by default the name of the weights.
        task: "language_modeling" for a decoder, "translation" for an encoder-decoder, "masked_lm" for an encoder with
            its masked language modeling head.
        for_litert: whether to write a LiteRT file with 8-bit weights instead of a SavedModel; of a decoder. A decoder
            whose tokenizer is not byte-level BPE has a SavedModel all the same, which tokenizes.

    Returns:
        the folder of the version.

    Raises:
        ConfigError: there are no such weights, or the model is not for the task.
        CheckpointError: the weights are damaged.
    """
    kind = _KINDS[task]
    source, name = _opened(weights, kind), name or name_of(weights)
    console.note(f"{name} is exported to {folder}, only once")
    with console.step("loading the pretrained weights"):
        built = kind.build(source)
    decoding = source.decoding()
    config = {
        "name": name,
        "data": {"preprocessing": {"name": source.preprocessor, **_settings(source)}},
        "model": {"name": source.model, **source.sizes()},
        "task": {"name": task, **({"decoding": decoding} if decoding else {})},
    }
    common = {
        "name": name,
        "config": checksummed(yaml.safe_dump(config, sort_keys=False)),
        "origins": {"pretrained": {**source.origin, "from": source.address or str(weights)}},
        "made_of": source.address or "",
    }
    if for_litert and isinstance(built[0], ByteBpe):
        return litert_version.export_version(*built, folder=folder, precision="int8", texts=TEXTS, **common)
    served = kind.served(TrainedEnsemble([built]))
    rows = [{kind.field: text, "row": f"text {number}"} for number, text in enumerate(kind.texts(), start=1)]
    with console.step(f"answering {len(rows)} texts, for the check of the export"):
        expected = served.ensemble.predict(rows)
    section = Export(folder=str(folder), tolerance=1e-4)
    return saved_model.export(served, section=section, rows=rows, expected=expected, **common)


def bundle(weights: str | Path, path: Path | None = None, *, force: bool = False) -> Path:
    """Write the `.litertlm` file of a published decoder, with 8-bit weights if their perplexity is good enough.

    Args:
        weights: as for `pretrained.open`.
        path: the file; by default `litertlm/<name>.litertlm`.
        force: whether to replace a file.

    Returns:
        the file.

    Raises:
        ConfigError: the file exists.
        ConfigError, CheckpointError: as `export`.
        ExportError: see `litert_bundle.write_bundle`.
    """
    path = path or Path("litertlm") / f"{name_of(weights)}.litertlm"
    if path.exists() and not force:
        raise ConfigError("the file exists", where=str(path), remedy="Name another file, or replace it with --force.")
    language, task = build(_opened(weights, _KINDS[LANGUAGE_MODELING]))
    with tempfile.TemporaryDirectory() as folder:
        reports = write_decoder(Path(folder), task.model, language, texts=TEXTS, precision="int8")
    precision = next(name for name, report in reports.items() if report["passed"])
    with files.atomic_file(path) as temporary, console.step(f"writing {path}"):
        options = {"texts": TEXTS, "precision": precision, "system": task.generation.system}
        litert_bundle.write_bundle(temporary, task.model, language, **options)
    console.note(f"wrote {path}: {path.stat().st_size / 1e6:.0f} MB")
    return path


def _opened(weights: str | Path, kind: "_Kind") -> Pretrained:
    """Open published weights.

    Raises:
        ConfigError: the model is not of the kind.
    """
    source = pretrained.open(weights)
    if not issubclass(registry.find("models", source.model), kind.model):
        raise ConfigError(
            f"the model is not a {kind.name}",
            where=str(source.folder),
            expected=f"the weights of {kind.example}",
            received=source.model,
            remedy=kind.remedy,
        )
    return source


def name_of(weights: str | Path) -> str:
    """Return the name of published weights, for their exports."""
    return _name(hub.parse(weights)) if hub.is_address(weights) else Path(weights).name


def build(source: Pretrained) -> tuple[Language, LanguageModeling]:
    """Build the tokenizer and the language model of a published decoder, in float32."""
    language = registry.find("preprocessors", source.preprocessor)(**_settings(source))
    language.adopt(**source.tokenization())
    language.fit([])
    with precision_scope("float32"):
        with _without_initial_values():
            model = registry.find("models", source.model)(**source.sizes())
        source.load_into(model).show()
        return language, LanguageModeling(model=model, preprocessor=language)


@contextlib.contextmanager
def _without_initial_values() -> Iterator[None]:
    """Initialize weights with zeros: drawing millions of numbers that are replaced at once takes seconds."""
    names = ("TruncatedNormal", "GlorotUniform")
    kept = {name: getattr(keras.initializers, name) for name in names}
    try:
        for name in names:
            setattr(keras.initializers, name, lambda **_: keras.initializers.Zeros())
        yield
    finally:
        for name, initializer in kept.items():
            setattr(keras.initializers, name, initializer)


def build_translation(source: Pretrained) -> tuple[SentencePiece, Translation]:
    """Build the tokenizer and the encoder-decoder of published weights, with their search for texts, in float32."""
    tokenizer = registry.find("preprocessors", source.preprocessor)(**_settings(source))
    tokenizer.adopt(**source.tokenization())
    tokenizer.fit([])
    with precision_scope("float32"):
        model = registry.find("models", source.model)(**source.sizes())
        source.load_into(model).show()
        return tokenizer, Translation(model=model, preprocessor=tokenizer, decoding=Decoding(**source.decoding()))


def build_masked_lm(source: Pretrained) -> tuple[EncoderTokens, MaskedLm]:
    """Build the tokenizer, the encoder and the masked language modeling head of published weights, in float32.

    Raises:
        ConfigError: the weights have no such head.
    """
    tokenizer = registry.find("preprocessors", source.preprocessor)(**_settings(source))
    tokenizer.adopt(**source.tokenization())
    tokenizer.fit([])
    with precision_scope("float32"):
        task = MaskedLm(model=registry.find("models", source.model)(**source.sizes()))
    stored = source.stored_shapes()
    names = [name for v in task.masked_lm_head.variables for name in source.stored_names(v.path, stored)]
    if missing := [name for name in names if name not in stored]:
        raise ConfigError(
            "the weights have no head for masked language modeling",
            where=str(source.path),
            expected=listed(missing, 3),
            received=f"{len(stored):,} other tensors",
            remedy="Use weights that were published with the head, or train it: `task: {name: masked_lm}`.",
        )
    source.load_into(task.model, task.optional_layers).show()
    return tokenizer, task


@dataclass(frozen=True)
class _Kind:
    """What is exported for a task.

    Args:
        name, example, remedy: the model, some weights and what else to do with others, for messages.
        model: the contract of the model.
        build: builds preprocessor and task.
        served: the class of the export.
        field: the raw field of texts.
        texts: returns the texts of the parity check.
    """

    name: str
    example: str
    remedy: str
    model: type[Model]
    build: Callable[[Pretrained], tuple[Any, Any]]
    served: type[ServableModel]
    texts: Callable[[], tuple[str, ...]]
    field: str = TEXT


_KINDS = {
    LANGUAGE_MODELING: _Kind(
        name="language model",
        example="a decoder, such as smollm2",
        remedy="Use an encoder with `tfattn features`, or fine-tune it in a pipeline.",
        model=Decoder,
        build=build,
        served=Generator,
        texts=lambda: PARITY_PROMPTS,
    ),
    TRANSLATION: _Kind(
        name="translator",
        example="an encoder-decoder, such as hf://Helsinki-NLP/opus-mt-en-de",
        remedy="Use a decoder with `tfattn generate`.",
        model=EncoderDecoder,
        build=build_translation,
        served=Translator,
        texts=lambda: PARITY_PROMPTS,
        field=SOURCE,
    ),
    MASKED_LM: _Kind(
        name="masked language model",
        example="an encoder, such as hf://google-bert/bert-base-uncased",
        remedy="Use a decoder with `tfattn generate`.",
        model=PretrainableEncoder,
        build=build_masked_lm,
        served=FillMask,
        texts=lambda: MASKED_TEXTS,
    ),
}


def _settings(source: Pretrained) -> dict[str, Any]:
    """Return the settings of the preprocessor."""
    return {"vocabulary": "pretrained", "max_length": source.max_length}


def _name(address: hub.Address) -> str:
    return address.name.removesuffix(".gguf")


def _made_of(version: Path) -> str:
    """Return the address of the weights of an export; "" for other exports."""
    made_of = files.read_manifest(version, saved_model.VersionManifest)["made_of"]
    return made_of if hub.is_address(made_of) else ""
