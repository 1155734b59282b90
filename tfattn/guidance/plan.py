"""What a request wants of a text, in the fields of OpenAI and vLLM, as expressions."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tfattn.errors import ServingError, listed
from tfattn.guidance import json_text
from tfattn.guidance.code_points import EVERY, Ranges
from tfattn.guidance.expressions import Expression, Rule, Texts
from tfattn.guidance.json_schema import JsonSchema
from tfattn.guidance.network import Network
from tfattn.guidance.regular_expression import parsed

MOST_CHARACTERS = 1 << 20  # of what a request asks for, as JSON


@dataclass(frozen=True)
class Plan:
    """What a text has to be.

    Attributes:
        where: the field that says so.
        root: what is to be written.
        rules: what names in it stand for.
    """

    where: str
    root: Expression
    rules: Mapping[str, Expression]

    def network(self, alphabet: Ranges = EVERY) -> Network:
        """Make the network of its texts, of the characters that can be written.

        Raises:
            ServingError: it is too large, or there is no such text.
        """
        try:
            network = Network(self.root, self.rules, alphabet)
        except ServingError as error:
            error.where = self.where
            raise
        if network.is_empty and alphabet != EVERY and not Network(self.root, self.rules).is_empty:
            raise ServingError(
                "the model's tokens cannot write any text that fits",
                where=self.where,
                expected="characters that are tokens by themselves",
                remedy="A model with a vocabulary of bytes, such as byte-level BPE, can write every text.",
            )
        if network.is_empty:
            remedy = "A schema that contains itself needs a value that does not."
            raise ServingError("no text fits", where=self.where, remedy=remedy)
        return network


def asked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return those fields of a request that guide a text, of which there is one at most; others are not looked at.

    Args:
        fields: as `json.loads` gives them. `response_format` is OpenAI's: {"type": "text"}, {"type": "json_object"} or
            {"type": "json_schema", "json_schema": {"schema": {...}}}; the others are vLLM's: `guided_choice`, a list of
            texts; `guided_json`, a schema; `guided_regex`, a pattern.

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


def plan_of(name: str, value: Any) -> Plan:
    """Read a field that guides a text.

    Raises:
        ServingError: it cannot be held to; `where` is the place in the request.
    """
    length = len(json.dumps(value, ensure_ascii=False))
    if length > MOST_CHARACTERS:
        expected = f"at most {MOST_CHARACTERS:,} characters"
        raise ServingError("what guides the text is too long", where=name, expected=expected, received=f"{length:,}")
    return Plan(name, *READERS[name](value, name))


Read = tuple[Expression, Mapping[str, Expression]]


def _choice(texts: Any, where: str) -> Read:
    if not (isinstance(texts, list) and texts and all(isinstance(text, str) and text for text in texts)):
        raise ServingError("no list of texts", where=where, expected='such as ["yes", "no"], none of them empty')
    return Texts(tuple(texts)), {}


def _regular_expression(pattern: Any, where: str) -> Read:
    if not isinstance(pattern, str) or not pattern:
        raise ServingError("no pattern", where=where, expected="a text that is not empty")
    return parsed(pattern, where=where), {}


def _schema(schema: Any, where: str) -> Read:
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise ServingError(f"the schema is no JSON ({error})", where=where) from None
    made = JsonSchema(schema, where=where)
    return made.root, made.rules


def _response_format(value: Any, where: str) -> Read:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "json_object":
        return Rule("object"), json_text.any_value()
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
    return _schema(inside["schema"], f"{where}.json_schema.schema")


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)[:80]


READERS: Mapping[str, Callable[[Any, str], Read]] = {
    "response_format": _response_format,
    "guided_choice": _choice,
    "guided_json": _schema,
    "guided_regex": _regular_expression,
}
