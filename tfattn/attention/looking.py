"""A model and an input to what it looks at: what is asked, and what is refused."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, files
from tfattn.attention.opening import TEXTS, Opened, opened
from tfattn.attention.picture import picture
from tfattn.attention.views import Views, of_outputs
from tfattn.drawing.figures import FORMATS
from tfattn.errors import ConfigError, DataError, ServingError
from tfattn.export.attention import ATTENTION, ATTRIBUTIONS, VECTORS
from tfattn.features import IMAGE, TARGET, TEXT

SAVED_MODELS = Path("saved_models")
PAGE = ".html"
SEEN = "image_bytes"  # of an image, a file of it as the model sees it
HAVE = (
    "a model with attention: BERT, GPT, the Transformer, a recurrent one that aligns, FT-Transformer, ViT; alone, not "
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
    """See what a model looks at as it reads an input.

    Args:
        model: an export's folder or name, a run's folder, a published model (minilm, smollm2), a folder of weights, or
            http://HOST:PORT/MODEL on a server.
        text: what is read; of two texts the first.
        text_b: the second, where it reads pairs.
        target: of a translator, what it is to write; by default what it writes by itself.
        row: of a model of tables, the columns by name, or as JSON, or as a line of csv in their order.
        image: of a model of images, the file of one.
        folder: that of all exports.
        token_file: a file with the bearer token, where a server asks for one.

    Raises:
        ConfigError: the input does not fit the model.
        ServingError: there is no such model, or it has no attention.
        DataError: the text is empty, or longer than the model reads.

    Example:
        >>> views = look("minilm", "The pump leaks.")
        >>> views.parts[0].weights.shape
        (6, 12, 6, 6)
    """
    asked = opened(model, pair=text_b is not None, folder=folder, token_file=token_file)
    if ATTENTION not in asked.signatures:
        raise ServingError(
            "the model does not tell what it looks at",
            where=asked.where,
            expected=f"the signature `{ATTENTION}`, of {HAVE}",
            received=f"the signatures {', '.join(asked.signatures) or '(none)'}",
            remedy="An export of an earlier version: export the model again.",
        )
    said = {"text": text, "text_b": text_b, "target": target, "row": row, "image": image}
    given = _given(asked, {name: value for name, value in said.items() if value is not None})
    found = asked.ask(ATTENTION, given)
    if np.any(found.get("truncated", False)):
        raise DataError(
            "the text is longer than the model reads",
            where=asked.where,
            expected=f"at most {len(found['tokens'])} tokens, special ones included",
            remedy="Shorten it, so that all of it can be shown.",
        )
    others = {name: asked.ask(name, given) if name in asked.signatures else None for name in (VECTORS, ATTRIBUTIONS)}
    return of_outputs(asked.title, found, others[VECTORS], others[ATTRIBUTIONS], image=found.get(SEEN))


def check(output: Path, *, layer: int | None = None, head: int | None = None) -> None:
    """Refuse a file that `write` could not write, before anything is computed.

    Raises:
        ConfigError: the suffix stands for no format, or a layer or head is asked for of a page.
    """
    write_as = files.by_suffix(output, {PAGE: None, **FORMATS})
    if write_as is None and (layer, head) != (None, None):
        raise ConfigError(
            "a page shows all layers and heads",
            expected=f"--layer and --head with one of {', '.join(FORMATS)}",
            received=str(output),
        )


def write(views: Views, output: Path, *, layer: int | None = None, head: int | None = None) -> None:
    """Write views into a file: a page (.html), or a picture of one layer and head, or of their mean.

    Raises:
        ConfigError: as `check`, `page` and `picture`.
    """
    check(output, layer=layer, head=head)
    if output.suffix.lower() == PAGE:
        content = views.html().encode()
    else:
        content = files.by_suffix(output, FORMATS)(picture(views, layer=layer, head=head))
    with files.atomic_file(output) as path:
        path.write_bytes(content)
    console.note(f"attention: {output}")


def _given(asked: Opened, said: Mapping[str, Any]) -> dict[str, Any]:
    """Give each input of a model what is said, by the names of options."""
    if not {*asked.inputs} <= {*TEXTS}:
        option = "image" if {*asked.inputs} == {IMAGE} else "row"
        _refuse_others(asked, said, [option])
        return _image(asked, said.get(option)) if option == "image" else _row(asked, said.get(option))
    fields = [name for name in asked.inputs if name != TARGET]
    options = ["text", "text_b"][: len(fields)]
    _refuse_others(asked, said, [*options, *([TARGET] if TARGET in asked.inputs else [])])
    for name in options:
        if not said.get(name, "").strip():
            raise DataError(
                "the text is empty" if name in said else "there is no text",
                where=asked.where,
                expected=f"a text: {_option(name)}",
            )
    given = {field: said[name] for field, name in zip(fields, options, strict=True)}
    if TARGET not in asked.inputs:
        return given
    return given | {TARGET: said[TARGET] if TARGET in said else _written(asked, given)}


def _refuse_others(asked: Opened, said: Mapping[str, Any], options: Sequence[str]) -> None:
    for name in said:
        if name not in options:
            raise ConfigError(
                "the model reads no such input",
                where=f"{asked.where}: {_option(name)}",
                expected=" and ".join(map(_option, options)),
            )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _image(asked: Opened, path: Path | None) -> dict[str, bytes]:
    if path is None:
        raise DataError("there is no image", where=asked.where, expected="the file of one: --image")
    return {IMAGE: files.read_bytes(path, remedy="Check `--image`.")}


def _written(asked: Opened, given: Mapping[str, str]) -> str:
    """Let a translator write."""
    written = asked.ask("serving_default", given)[TEXT]
    return written.decode("utf-8", errors="replace") if isinstance(written, bytes) else written


def _row(asked: Opened, row: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Read a row of a table: JSON, or a line of csv in the order of the columns."""
    if row is None:
        raise DataError(
            "there is no row", where=asked.where, expected=f"--row with the columns {', '.join(asked.inputs)}"
        )
    columns = row if isinstance(row, Mapping) else _columns(asked, row)
    if missing := [name for name in asked.inputs if name not in columns]:
        raise DataError("the row lacks columns", where=asked.where, expected=", ".join(missing))
    return {name: _number(name, columns[name]) if asked.inputs[name] else str(columns[name]) for name in asked.inputs}


def _columns(asked: Opened, row: str) -> dict[str, Any]:
    if row.lstrip().startswith("{"):
        try:
            return json.loads(row)
        except ValueError as error:
            raise DataError("the row is not JSON", where="--row", received=str(error)) from None
    values = next(csv.reader([row]), [])
    if len(values) != len(asked.inputs):
        raise DataError(
            "the row has another number of columns than the model",
            where="--row",
            expected=f"{len(asked.inputs)}: {', '.join(asked.inputs)}; or JSON",
            received=str(len(values)),
        )
    return dict(zip(asked.inputs, values, strict=True))


def _number(name: str, value: Any) -> float:
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError("a column is no number", where=f"--row: {name}", received=repr(value)) from None
