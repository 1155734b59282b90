"""How to call a served model: commands and Python with values of real rows, as Markdown."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tfattn.formats.markdown import code, fence

SERVER = "http://127.0.0.1:8501"
IMAGE = "image.png"
MAX_CHARACTERS = 200  # of a text in an example
LANGUAGE_MODELS = ("chat", "language_modeling", "preference_optimization")


def section(name: str, task: str, card: Mapping[str, Any], suffix: str) -> str:
    """Return the examples of an export.

    Args:
        name: the name of the model.
        task: the catalog name of its task.
        card: card.json; its `inputs` and the first of its `examples` make the request.
        suffix: the suffix of the training file, such as ".csv".
    """
    row = example_row(card.get("inputs", {}), card.get("examples", []))
    columns = [properties.get("column", input) for input, properties in card.get("inputs", {}).items()]
    if task in LANGUAGE_MODELS:
        prompt = next(iter((row or {}).values()), "Once upon a time")
        commands = [_completion(name, prompt), f"tfattn generate {name} {shlex.quote(prompt)}"]
    else:
        commands = [curl(name, row)] if row else []
        commands.append(f"tfattn predict {name} --input rows{suffix or '.txt'} --output predictions.csv")
    parts = [fence("\n".join([f"tfattn serve {name}", *commands]), "sh")]
    if row and task not in LANGUAGE_MODELS:
        parts.append(fence(_python(name, row), "python"))
        files = f"A file has the column{'s' * (len(columns) > 1)} {', '.join(map(code, columns))}"
        parts.append(f"{files}, or one text on each line." if len(columns) == 1 else f"{files}.")
    return "\n\n".join(parts)


def example_row(inputs: Mapping[str, Any], examples: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the first example, if possible without missing values; only its inputs, with long texts cut."""
    rows = [{name: row[name] for name in inputs if name in row} for row in examples]
    row = next((row for row in rows if None not in row.values()), rows[0] if rows else None)
    return row and {name: _cut(value) for name, value in row.items()}


def curl(name: str, row: Mapping[str, Any]) -> str:
    """Return the shell command that asks TF Serving's API for a prediction of a row.

    Example:
        >>> curl("reports", {"text": "It's leaking."})
        "curl -d '{\\"instances\\": [\\"It'\\"'\\"'s leaking.\\"]}' http://127.0.0.1:8501/v1/models/reports:predict"
    """
    values = {key: float("nan") if value is None else value for key, value in row.items()}
    instance = next(iter(values.values())) if len(values) == 1 else values
    address = f"{SERVER}/v1/models/{quote(name)}:predict"
    if not any(map(_is_image, row.values())):
        return f"curl -d {_body({'instances': [instance]})} {address}"
    data = next(value["b64"] for value in row.values() if _is_image(value))
    body = _body({"instances": [instance]}).replace(data, f"'\"$(base64 < {IMAGE} | tr -d '\\n')\"'")
    return f"echo {body} | curl -d @- {address}"


def _python(name: str, row: Mapping[str, Any]) -> str:
    values = [
        f"{key!r}: open({IMAGE!r}, 'rb').read()" if _is_image(value) else f"{key!r}: {value!r}"
        for key, value in row.items()
    ]
    lines = ["import tfattn", "", f"model = tfattn.load({f'{SERVER}/{name}'!r})  # or {name!r}, without a server"]
    return "\n".join([*lines, f"model.predict([{{{', '.join(values)}}}])"])


def _completion(name: str, prompt: str) -> str:
    body = {"model": name, "prompt": prompt, "max_tokens": 30}
    return f"curl -d {_body(body)} {SERVER}/v1/completions"


def _body(value: Any) -> str:
    return shlex.quote(json.dumps(value, ensure_ascii=False))


def _is_image(value: Any) -> bool:
    return isinstance(value, dict)


def _cut(value: Any) -> Any:
    """Shorten a text at a space."""
    if not isinstance(value, str) or len(value) <= MAX_CHARACTERS:
        return value
    return value[:MAX_CHARACTERS].rpartition(" ")[0] or value[:MAX_CHARACTERS]
