"""Computing and writing the attention of a model for an input."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, files
from tfattn.attention.opening import TEXTS, Opened, open_model
from tfattn.attention.views import Views, of_outputs, picture
from tfattn.drawing.figures import FORMATS
from tfattn.errors import ConfigError, DataError, ServingError
from tfattn.export.attention import ATTENTION, ATTRIBUTIONS, VECTORS
from tfattn.features import IMAGE, TARGET, TEXT

SAVED_MODELS = Path("saved_models")
PAGE = ".html"
IMAGE_BYTES = "image_bytes"  # the output with a file of the preprocessed image
SUPPORTED = (
    "a model with attention: BERT, GPT, the Transformer, a recurrent model with attention, FT-Transformer or ViT; not "
    "an ensemble"
)


def look(
    model: str,
    text: str | None = None,
    text_b: str | None = None,
    *,
    target: str | None = None,
    row: str | Mapping[str, Any] | None = None,
    image: Path | None = None,
    folder: Path = SAVED_MODELS,
    token_file: Path | None = None,
) -> Views:
    """Compute the attention of a model for an input.

    Args:
        model: an export's folder or name, a run's folder, a published model (minilm, smollm2), a folder of weights, or
            http://HOST:PORT/MODEL on a server.
        text: the text, or the first of a pair.
        text_b: the second text of a pair.
        target: the target of a translator; by default its own translation.
        row: the row of a table, as a mapping, JSON, or a line of csv in the order of the columns.
        image: the file of an image.
        folder: the folder of all exports.
        token_file: a file with the bearer token of the server.

    Raises:
        ConfigError: the input does not fit the model.
        ServingError: the model does not exist, or it has no attention.
        DataError: the text is empty or too long.

    Example:
        >>> views = look("minilm", "The pump leaks.")
        >>> views.parts[0].weights.shape
        (6, 12, 6, 6)
    """
    opened_model = open_model(model, pair=text_b is not None, folder=folder, token_file=token_file)
    if ATTENTION not in opened_model.signatures:
        raise ServingError(
            "the model has no attention signature",
            where=opened_model.where,
            expected=f"the signature `{ATTENTION}`, of {SUPPORTED}",
            received=f"the signatures {', '.join(opened_model.signatures) or '(none)'}",
            remedy="An export of an earlier version: export the model again.",
        )
    options_given = {"text": text, "text_b": text_b, "target": target, "row": row, "image": image}
    given = _inputs(opened_model, {name: value for name, value in options_given.items() if value is not None})
    found = opened_model.ask(ATTENTION, given)
    if np.any(found.get("truncated", False)):
        raise DataError(
            "the text is longer than the model accepts",
            where=opened_model.where,
            expected=f"at most {len(found['tokens'])} tokens, special tokens included",
            remedy="Shorten the text.",
        )
    others = {
        name: opened_model.ask(name, given) if name in opened_model.signatures else None
        for name in (VECTORS, ATTRIBUTIONS)
    }
    return of_outputs(opened_model.title, found, others[VECTORS], others[ATTRIBUTIONS], image=found.get(IMAGE_BYTES))


def check(output: Path, *, layer: int | None = None, head: int | None = None) -> None:
    """Check before computing that `write` can write a file.

    Raises:
        ConfigError: the suffix is unknown, or a layer or head is given for a page.
    """
    write_as = files.by_suffix(output, {PAGE: None, **FORMATS})
    if write_as is None and (layer, head) != (None, None):
        raise ConfigError(
            "a page shows all layers and heads",
            expected=f"--layer and --head with one of {', '.join(FORMATS)}",
            received=str(output),
        )


def write(views: Views, output: Path, *, layer: int | None = None, head: int | None = None) -> None:
    """Write views to a file: a page (.html), or a picture of a layer and head or of their mean.

    Raises:
        ConfigError: see `check`, `page` and `picture`.
    """
    check(output, layer=layer, head=head)
    if output.suffix.lower() == PAGE:
        content = views.html().encode()
    else:
        content = files.by_suffix(output, FORMATS)(picture(views, layer=layer, head=head))
    with files.atomic_file(output) as path:
        path.write_bytes(content)
    console.note(f"attention: {output}")


def _inputs(opened_model: Opened, options_given: Mapping[str, Any]) -> dict[str, Any]:
    """Map options to the inputs of a model."""
    if not {*opened_model.inputs} <= {*TEXTS}:
        option = "image" if {*opened_model.inputs} == {IMAGE} else "row"
        _check_options(opened_model, options_given, [option])
        return (
            _image(opened_model, options_given.get(option))
            if option == "image"
            else _row(opened_model, options_given.get(option))
        )
    fields = [name for name in opened_model.inputs if name != TARGET]
    options = ["text", "text_b"][: len(fields)]
    _check_options(opened_model, options_given, [*options, *([TARGET] if TARGET in opened_model.inputs else [])])
    for name in options:
        if not options_given.get(name, "").strip():
            raise DataError(
                "the text is empty" if name in options_given else "there is no text",
                where=opened_model.where,
                expected=f"a text: {_option(name)}",
            )
    given = {field: options_given[name] for field, name in zip(fields, options, strict=True)}
    if TARGET not in opened_model.inputs:
        return given
    return given | {TARGET: options_given[TARGET] if TARGET in options_given else _translate(opened_model, given)}


def _check_options(opened_model: Opened, options_given: Mapping[str, Any], options: Sequence[str]) -> None:
    for name in options_given:
        if name not in options:
            raise ConfigError(
                "the model does not have this input",
                where=f"{opened_model.where}: {_option(name)}",
                expected=" and ".join(map(_option, options)),
            )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _image(opened_model: Opened, path: Path | None) -> dict[str, bytes]:
    if path is None:
        raise DataError("there is no image", where=opened_model.where, expected="an image file: --image")
    return {IMAGE: files.read_bytes(path, remedy="Check `--image`.")}


def _translate(opened_model: Opened, given: Mapping[str, str]) -> str:
    """Return the translation of the model."""
    written = opened_model.ask("serving_default", given)[TEXT]
    return written.decode("utf-8", errors="replace") if isinstance(written, bytes) else written


def _row(opened_model: Opened, row: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Parse a row of a table: a mapping, JSON, or a line of csv in the order of the columns."""
    if row is None:
        raise DataError(
            "there is no row",
            where=opened_model.where,
            expected=f"--row with the columns {', '.join(opened_model.inputs)}",
        )
    columns = row if isinstance(row, Mapping) else _columns(opened_model, row)
    if missing := [name for name in opened_model.inputs if name not in columns]:
        raise DataError("the row lacks columns", where=opened_model.where, expected=", ".join(missing))
    return {
        name: _number(name, columns[name]) if opened_model.inputs[name] else str(columns[name])
        for name in opened_model.inputs
    }


def _columns(opened_model: Opened, row: str) -> dict[str, Any]:
    if row.lstrip().startswith("{"):
        try:
            return json.loads(row)
        except ValueError as error:
            raise DataError("the row is not JSON", where="--row", received=str(error)) from None
    values = next(csv.reader([row]), [])
    if len(values) != len(opened_model.inputs):
        raise DataError(
            "the row has a different number of columns than the model",
            where="--row",
            expected=f"{len(opened_model.inputs)}: {', '.join(opened_model.inputs)}; or JSON",
            received=str(len(values)),
        )
    return dict(zip(opened_model.inputs, values, strict=True))


def _number(name: str, value: Any) -> float:
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError("a column is not a number", where=f"--row: {name}", received=repr(value)) from None
