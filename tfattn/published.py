"""Published weights of a decoder as an export, without a pipeline: so they can be asked, and served."""

from pathlib import Path
from typing import Any

import yaml

from tfattn import console, pretrained, registry
from tfattn.config.checksum import checksummed
from tfattn.errors import ConfigError
from tfattn.export import saved_model
from tfattn.export.generation import Generator
from tfattn.export.section import Export
from tfattn.models.contracts.decoder import Decoder
from tfattn.preprocessing.language import Language
from tfattn.pretrained.contract import Pretrained
from tfattn.tasks.language_modeling import LanguageModeling
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.training.precision import precision_scope

# What the export is asked to see whether it writes what the weights write.
QUESTIONS = ("The capital of France is", "Once upon a time", "def add(a, b):", "3 + 4 =", "", "日本の首都は")


def export(weights: str | Path, *, folder: Path, name: str | None = None) -> Path:
    """Write `<folder>/<name>/<version>/` with a published decoder, checked as every export.

    Args:
        weights: a name of catalog.PRETRAINED_PACKAGES, or a folder of weights.
        folder: of all exports.
        name: of the model; that of the weights if not given.

    Returns:
        the version's folder.

    Raises:
        ConfigError: there are no such weights, or they are of no decoder.
        CheckpointError: they are damaged.
    """
    source = pretrained.open(weights)
    if not issubclass(registry.find("models", source.model), Decoder):
        raise ConfigError(
            "these weights continue no texts",
            where=str(source.folder),
            expected="those of a decoder, such as smollm2",
            received=source.model,
            remedy="An encoder is asked by `tfattn features`, or fine-tuned by a pipeline.",
        )
    name = name or Path(weights).name
    console.note(f"{name} is exported, once, so that it can be asked and served")
    served = Generator(TrainedEnsemble([built(source)]))
    rows = [{"text": text, "row": f"question {number}"} for number, text in enumerate(QUESTIONS, start=1)]
    config = {
        "name": name,
        "data": {"preprocessing": {"name": source.preprocessor, **_settings(source)}},
        "model": {"name": source.model, **source.sizes()},
        "task": {"name": "language_modeling"},
    }
    return saved_model.export(
        served,
        name=name,
        section=Export(folder=str(folder), tolerance=1e-4),
        rows=rows,
        expected=served.ensemble.predict(rows),
        config=checksummed(yaml.safe_dump(config, sort_keys=False)),
    )


def built(source: Pretrained) -> tuple[Language, LanguageModeling]:
    """Build a published decoder, in float32: what makes its tokens, and the task of continuing texts."""
    language = registry.find("preprocessors", source.preprocessor)(**_settings(source))
    language.adopt(**source.tokenization())
    language.fit([])
    with precision_scope("float32"):
        model = registry.find("models", source.model)(**source.sizes())
        source.load_into(model).show()
        return language, LanguageModeling(model=model, preprocessor=language)


def _settings(source: Pretrained) -> dict[str, Any]:
    """Return the settings of its preprocessor."""
    return {"vocabulary": "pretrained", "max_length": source.max_length}
