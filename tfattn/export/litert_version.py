"""Versions of language models for LiteRT alone, without a SavedModel."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tfattn import console, files
from tfattn.export.generation import save_description
from tfattn.export.litert_decoder import write_decoder
from tfattn.export.section import Export
from tfattn.preprocessing.language import Language
from tfattn.tasks.language_modeling import LanguageModeling
from tfattn.trained import model_card

EXTRA = Path("assets.extra")
CARD, PARITY, CONFIG = EXTRA / "card.json", EXTRA / "parity.json", EXTRA / "config.yaml"


def export_version(
    language: Language,
    task: LanguageModeling,
    *,
    name: str,
    folder: Path,
    precision: str,
    texts: Sequence[str],
    config: str,
    origins: Mapping[str, Any],
    made_of: str,
) -> Path:
    """Write a version that only LiteRT can run, which takes a fraction of the time of a SavedModel.

    Args:
        language: the tokenizer.
        task: the language model.
        name: the name of the model.
        folder: the folder of versions is `<folder>/<name>`.
        precision, texts: as for `write_decoder`.
        config: the configuration, as YAML.
        origins: the source of the weights, for the card.
        made_of: the identity of the weights.

    Returns:
        the folder of the version.
    """
    with files.lock(folder / name):
        target = folder / name / str(Export(folder=str(folder)).next_version(name))
        with files.atomic_folder(target, model=name, made_of=made_of) as temporary:
            (temporary / "assets").mkdir()
            save_description(temporary / "assets", language, task.model, task.generation)
            with console.step(f"converting {name} to LiteRT"):
                report = write_decoder(temporary, task.model, language, texts=texts, precision=precision)
            (temporary / CONFIG).write_text(config, encoding="utf-8")
            files.write_json(temporary / PARITY, {"litert": report})
            files.write_json(temporary / CARD, {"litert": report, "pretrained": dict(origins)})
            summary = "A LiteRT file with its tokenizer, without a SavedModel."
            files.write_text(temporary / model_card.CARD, model_card.text(temporary, summary=summary))
    return target
