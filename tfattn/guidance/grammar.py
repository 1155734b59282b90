"""Request fields that guide a text, in the words of OpenAI and vLLM, as grammars of llguidance.

The grammars are written in llguidance's dialect of Lark. Forced tokens are switched off: where only one text can
follow, every token that begins this text may be drawn.
"""

import json
import string
from collections.abc import Callable, Mapping
from typing import Any

from llguidance import regex_to_lark

from tfattn.errors import ServingError, listed
from tfattn.guidance.json_schema import readable

MAX_CHARACTERS = 1 << 20  # of the field as JSON
MAX_PATTERN = 2_000  # characters
HEADER = '%llguidance {"no_forcing": true}\n'
# Compact, or with one space after each colon and comma, as Python writes JSON.
JSON_OPTIONS = {"whitespace_flexible": False, "item_separator": ", ?", "key_separator": ": ?"}
JSON_CHARACTERS = frozenset(string.hexdigits + '{}[]:,"\\ -+.' + "nrtuls")

Alphabet = str | None  # the characters that the tokens of a model can write one by one; None for all


def requested(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field of a request that guides the text, if any. All other fields are ignored.

    Args:
        fields: as `json.loads` gives them. `response_format` is OpenAI's: {"type": "text"}, {"type": "json_object"} or
            {"type": "json_schema", "json_schema": {"schema": {...}}}. The other fields are vLLM's: `guided_choice`, a
            list of texts; `guided_json`, a schema; `guided_regex`, a pattern; `guided_grammar`, a Lark grammar.

    Raises:
        ServingError: there are several.
    """
    found = {name: fields[name] for name in READERS if fields.get(name) is not None}
    response_format = found.get("response_format")
    if isinstance(response_format, dict) and response_format.get("type") == "text":
        del found["response_format"]
    if len(found) > 1:
        received = listed(found)
        raise ServingError("only one field can guide a text", where=list(found)[-1], expected="one", received=received)
    return found


def grammar_of(name: str, value: Any, alphabet: Alphabet = None) -> str:
    """Return the grammar that a field asks for.

    Raises:
        ServingError: the field cannot be read; `where` is the place in the request.

    Example:
        >>> grammar_of("guided_choice", ["yes", "no"]).splitlines()[1:]
        ['start: TEXT', 'TEXT: "yes" | "no"']
    """
    length = len(json.dumps(value, ensure_ascii=False))
    if length > MAX_CHARACTERS:
        expected = f"at most {MAX_CHARACTERS:,} characters"
        raise ServingError("what guides the text is too long", where=name, expected=expected, received=f"{length:,}")
    return HEADER + READERS[name](value, name, alphabet)


def unwritable(where: str, missing: str = "") -> ServingError:
    """Make the error of a vocabulary that lacks characters."""
    return ServingError(
        "the model's tokens cannot write any text that fits",
        where=where,
        expected="characters that are tokens by themselves",
        received=f"no token for {listed(sorted(missing))}" if missing else "",
        remedy="A model with a vocabulary of bytes, such as byte-level BPE, can write every text.",
    )


def _choice(texts: Any, where: str, alphabet: Alphabet) -> str:
    if not (isinstance(texts, list) and texts and all(isinstance(text, str) and text for text in texts)):
        raise ServingError("no list of texts", where=where, expected='such as ["yes", "no"], none of them empty')
    possible = [text for text in texts if alphabet is None or set(text) <= set(alphabet)]
    if not possible:
        raise unwritable(where)
    return f"start: TEXT\nTEXT: {' | '.join(map(json.dumps, possible))}"


def _pattern(pattern: Any, where: str, alphabet: Alphabet) -> str:
    if not isinstance(pattern, str) or not pattern:
        raise ServingError("no pattern", where=where, expected="a text that is not empty")
    if len(pattern) > MAX_PATTERN:
        expected, received = f"at most {MAX_PATTERN:,} characters", f"{len(pattern):,}"
        raise ServingError("the pattern is too long", where=where, expected=expected, received=received)
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        raise ServingError("cannot read the pattern", where=where, expected="a character after the last backslash")
    terminal = f"/{regex_to_lark(pattern, 'dws')}/"  # classes such as \d are of ASCII, as in JavaScript
    if alphabet is not None:
        characters = "".join(rf"\x{{{ord(character):x}}}" for character in alphabet)
        terminal += f" & /[{characters}]*/"
    return f"start: TEXT\nTEXT: {terminal}"


def _lark(grammar: Any, where: str, alphabet: Alphabet) -> str:
    if not isinstance(grammar, str) or not grammar:
        raise ServingError("no grammar", where=where, expected="a Lark grammar with a rule `start`")
    if "%llguidance" in grammar:
        raise ServingError("options of llguidance are not offered", where=where, remedy="Leave `%llguidance` out.")
    return grammar


def _schema(schema: Any, where: str, alphabet: Alphabet) -> str:
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise ServingError(f"the schema is no JSON ({error})", where=where) from None
    return _json(readable(schema, where=where), where, alphabet)


def _json(schema: Any, where: str, alphabet: Alphabet) -> str:
    said = json.dumps({**schema, "x-guidance": JSON_OPTIONS}, ensure_ascii=False)
    if alphabet is not None and (missing := (JSON_CHARACTERS | set(said)) - set(alphabet)):
        raise unwritable(where, "".join(missing))
    return f"start: %json {said}"


def _response_format(value: Any, where: str, alphabet: Alphabet) -> str:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "json_object":
        return _json({"type": "object"}, where, alphabet)
    if kind != "json_schema":
        raise ServingError(
            "no format of responses",
            where=f"{where}.type",
            expected="text, json_object or json_schema",
            received=_shown(kind if isinstance(value, dict) else value),
        )
    inside = value.get("json_schema")
    if not isinstance(inside, dict) or "schema" not in inside:
        expected = '{"name": "NAME", "schema": {...}}'
        raise ServingError("no schema", where=f"{where}.json_schema", expected=expected, received=_shown(inside))
    return _schema(inside["schema"], f"{where}.json_schema.schema", alphabet)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)[:80]


READERS: Mapping[str, Callable[[Any, str, Alphabet], str]] = {
    "response_format": _response_format,
    "guided_choice": _choice,
    "guided_json": _schema,
    "guided_regex": _pattern,
    "guided_grammar": _lark,
}
