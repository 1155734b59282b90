"""Minimal folders of exports, for reading weights."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import keras
import tensorflow as tf


def write_export(
    folder: Path,
    model: keras.Model,
    tokens: Sequence[str],
    *,
    name: str = "bert",
    preprocessor: str = "wordpiece",
    columns: Mapping[str, str] | None = None,
    without: str = "nothing",
    **settings,
) -> Path:
    """Write the folder of a version.

    Args:
        folder: the new folder.
        model: the model with the weights.
        tokens: the tokens of the vocabulary.
        name: the catalog name of the model.
        preprocessor: the catalog name of the preprocessor.
        columns: the columns of the training file, by field.
        without: weights whose names contain this text are omitted.
        settings: changed settings of the tokenizer.
    """
    (folder / "variables").mkdir(parents=True)
    weights = [weight for weight in model.weights if "seed" not in weight.path and without not in weight.path]
    tf.train.Checkpoint(weights=[weight.value for weight in weights]).write(str(folder / "variables/variables"))
    columns = columns or {"text": "text"}
    tokenizer = {"do_lower_case": True, "strip_accents": True, "model_max_length": 16, "fields": list(columns)}
    for path, content in {
        "assets.extra/config.yaml": {
            "data": {"preprocessing": {"name": preprocessor}},
            "model": {"name": name, **model.get_config()},
        },
        "assets.extra/weights.json": {"model": model.name, "weights": [weight.path for weight in weights]},
        "assets.extra/source.json": {"columns": columns, "missing": [], "suffix": ".csv", "format": None},
        "assets/tokenizer_config.json": {**tokenizer, **settings},
    }.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(content))
    (folder / "assets/vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    return folder
