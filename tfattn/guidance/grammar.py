"""Conversion of the fields of OpenAI and vLLM that guide a text to grammars of llguidance.

The grammars are in llguidance's dialect of Lark. Forced tokens are disabled: if only one continuation is valid, every
token that is a prefix of it is allowed.
"""

import json
import string
from collections.abc import Callable, Mapping
from typing import Any

from llguidance import regex_to_lark

from tfattn.errors import ServingError, listed
from tfattn.guidance.json_schema import normalize_schema

MAX_CHARACTERS = 1 << 20  # of the field as JSON
MAX_PATTERN = 2_000  # characters
HEADER = '%llguidance {"no_forcing": true}\n'
# Compact, or with one space after each colon and comma, as Python writes JSON.
JSON_OPTIONS = {"whitespace_flexible": False, "item_separator": ", ?", "key_separator": ": ?"}
JSON_CHARACTERS = frozenset(string.hexdigits + '{}[]:,"\\ -+.' + "nrtuls")

TOOL_CALLS = "tool_calls"  # a field for servers, which do not pass it on from requests

Alphabet = str | None  # the characters that are tokens of the model; None for all characters


def guiding_field(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field of a request that guides the text, or no field; other fields are ignored.

    Args:
        fields: the fields of the request. `response_format` is OpenAI's: {"type": "text"}, {"type": "json_object"} or
            {"type": "json_schema", "json_schema": {"schema": {...}}}. The other fields are vLLM's: `guided_choice`, a
            list of texts; `guided_json`, a schema; `guided_regex`, a pattern; `guided_grammar`, a Lark grammar.
            `tool_calls` is {"calls": [{"begin": TEXT, "schema": {...}, "end": TEXT, "path": TEXT}], "trigger": TEXT or
            null, "parallel": BOOL}: a call is JSON between two texts, several calls have a line each if they may be
            parallel, and any text without the trigger may precede the first call, unless the trigger is null. `path`
            is the location of the schema in the request, for messages.

    Raises:
        ServingError: there are several such fields.
    """
    found = {name: fields[name] for name in READERS if fields.get(name) is not None}
    response_format = found.get("response_format")
    if isinstance(response_format, dict) and response_format.get("type") == "text":
        del found["response_format"]
    if len(found) > 1:
        received = listed(found)
        raise ServingError("only one field can guide a text", where=list(found)[-1], expected="one", received=received)
    return found


def field_grammar(name: str, value: Any, alphabet: Alphabet = None) -> str:
    """Return the grammar of a field.

    Args:
        name: the name of the field.
        value: its value.
        alphabet: the characters that the model can generate.

    Raises:
        ServingError: the field is invalid; `where` is the location in the request.

    Example:
        >>> field_grammar("guided_choice", ["yes", "no"]).splitlines()[1:]
        ['start: TEXT', 'TEXT: "yes" | "no"']
    """
    length = len(json.dumps(value, ensure_ascii=False))
    if length > MAX_CHARACTERS:
        expected = f"at most {MAX_CHARACTERS:,} characters"
        raise ServingError("the field is too long", where=name, expected=expected, received=f"{length:,}")
    return HEADER + READERS[name](value, name, alphabet)


def unwritable(where: str, missing: str = "") -> ServingError:
    """Create the error of a vocabulary that lacks characters."""
    return ServingError(
        "the tokens of the model cannot form a valid text",
        where=where,
        expected="characters that are tokens by themselves",
        received=f"no token for {listed(sorted(missing))}" if missing else "",
        remedy="Use a model with a vocabulary of bytes, such as byte-level BPE, which can form every text.",
    )


def _choice(texts: Any, where: str, alphabet: Alphabet) -> str:
    if not (isinstance(texts, list) and texts and all(isinstance(text, str) and text for text in texts)):
        raise ServingError("no list of texts", where=where, expected='non-empty texts, such as ["yes", "no"]')
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
    return _json(normalize_schema(schema, where=where), where, alphabet)


def _json(schema: Any, where: str, alphabet: Alphabet) -> str:
    text = json.dumps({**schema, "x-guidance": JSON_OPTIONS}, ensure_ascii=False)
    if alphabet is not None and (missing := (JSON_CHARACTERS | set(text)) - set(alphabet)):
        raise unwritable(where, "".join(missing))
    return f"start: %json {text}"


def _response_format(value: Any, where: str, alphabet: Alphabet) -> str:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "json_object":
        return _json({"type": "object"}, where, alphabet)
    if kind != "json_schema":
        raise ServingError(
            "unknown response format",
            where=f"{where}.type",
            expected="text, json_object or json_schema",
            received=_excerpt(kind if isinstance(value, dict) else value),
        )
    inside = value.get("json_schema")
    if not isinstance(inside, dict) or "schema" not in inside:
        expected = '{"name": "NAME", "schema": {...}}'
        raise ServingError("no schema", where=f"{where}.json_schema", expected=expected, received=_excerpt(inside))
    return _schema(inside["schema"], f"{where}.json_schema.schema", alphabet)


def _tool_calls(value: Any, where: str, alphabet: Alphabet) -> str:
    """Return the grammar from the start of the first call on; `TriggeredGuide` guides the text before it."""
    rules = ['start: call ("\\n" call)*' if value["parallel"] else "start: call"]
    rules.append(f"call: {' | '.join(f'call_{number}' for number in range(len(value['calls'])))}")
    for number, call in enumerate(value["calls"]):
        begin, end = json.dumps(call["begin"]), json.dumps(call["end"])
        if alphabet is not None and (missing := set(call["begin"] + call["end"]) - set(alphabet)):
            raise unwritable(where, "".join(missing))
        schema = _schema(call["schema"], f"{where}{call['path']}", alphabet).removeprefix("start: ")
        rules += [f"call_{number}: {begin} arguments_{number} {end}", f"arguments_{number}: {schema}"]
    return "\n".join(rules)


def _excerpt(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)[:80]


READERS: Mapping[str, Callable[[Any, str, Alphabet], str]] = {
    "response_format": _response_format,
    "guided_choice": _choice,
    "guided_json": _schema,
    "guided_regex": _pattern,
    "guided_grammar": _lark,
    TOOL_CALLS: _tool_calls,
}
