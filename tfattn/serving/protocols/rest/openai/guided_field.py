"""Structured output: the field of a request that constrains the generated text, under any of its names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tfattn.errors import listed
from tfattn.guidance.grammar import READERS, requested
from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.openai.errors import invalid_parameter

# vLLM's object, with the guided_* field of each entry, and the field of llama.cpp for a schema.
STRUCTURED_OUTPUTS, JSON_SCHEMA = "structured_outputs", "json_schema"
ENTRIES = {"json": "guided_json", "regex": "guided_regex", "choice": "guided_choice", "grammar": "guided_grammar"}
JSON_OBJECT = {"type": "json_object"}
NAMES = frozenset({STRUCTURED_OUTPUTS, JSON_SCHEMA, *READERS})


@dataclass(frozen=True)
class GuidedField:
    """The constraint on a generated text.

    Attributes:
        parameter: the name of the request's field; empty without a constraint.
        path: the path of the value in the request, such as "structured_outputs.json".
        guided: the constraint as a guided_* field; empty without a constraint.
    """

    parameter: str = ""
    path: str = ""
    guided: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "GuidedField":
        """Find the constraint in the fields of a request; ignore other fields.

        Raises:
            Failure: INVALID_ARGUMENT with the parameter, if several fields constrain the text.
        """
        names = (*READERS, STRUCTURED_OUTPUTS, JSON_SCHEMA)
        found = [constraint for name in names for constraint in _read(name, fields.get(name))]
        if len(found) > 1:
            received = listed(constraint.parameter for constraint in found)
            raise invalid_parameter(found[-1].parameter, f"only one field can guide a text, received {received}")
        return found[0] if found else cls()

    def with_location(self, failure: Failure) -> Failure:
        """Replace the name of the guided_* field in a failure's message with the path in the request."""
        for name in self.guided:
            failure.parameter, failure.message = self.parameter, self.path + failure.message.removeprefix(name)
        return failure


def _read(name: str, value: Any) -> list[GuidedField]:
    if value is None:
        return []
    if name == JSON_SCHEMA:
        return [GuidedField(name, name, {"guided_json": value})]
    if name == STRUCTURED_OUTPUTS:
        return [_entry(value)]
    is_object = isinstance(value, dict) and value.get("type") == "json_object"
    if name == "response_format" and is_object and "schema" in value:  # llama.cpp's
        return [GuidedField(name, f"{name}.schema", {"guided_json": value["schema"]})]
    guided = requested({name: value})
    return [GuidedField(name, name, guided)] if guided else []


def _entry(value: Any) -> GuidedField:
    given = value if isinstance(value, dict) else {}
    entries = {name: entry for name, entry in given.items() if entry not in (None, False)}
    known = {name: reader for name, reader in ENTRIES.items() if reader in READERS}
    if unknown := entries.keys() - known.keys() - {"json_object"}:
        message = f"this server does not support {listed(sorted(unknown))}; use {listed([*known, 'json_object'])}"
        raise invalid_parameter(STRUCTURED_OUTPUTS, message, error_code="unsupported_parameter")
    if len(entries) != 1:
        raise invalid_parameter(STRUCTURED_OUTPUTS, f"expected an object with one of {listed([*known, 'json_object'])}")
    ((name, entry),) = entries.items()
    guided = {"response_format": JSON_OBJECT} if name == "json_object" else {known[name]: entry}
    return GuidedField(STRUCTURED_OUTPUTS, f"{STRUCTURED_OUTPUTS}.{name}", guided)
