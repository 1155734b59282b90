"""What a text must be, by the one field of a request that says so, under any of its names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tfattn.errors import listed
from tfattn.guidance.grammar import READERS, requested
from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.openai.errors import invalid_parameter

# vLLM's object, and by which field its entries are read. llama.cpp has a schema in a field of its own.
STRUCTURED_OUTPUTS, JSON_SCHEMA = "structured_outputs", "json_schema"
ENTRIES = {"json": "guided_json", "regex": "guided_regex", "choice": "guided_choice", "grammar": "guided_grammar"}
JSON_OBJECT = {"type": "json_object"}
NAMES = frozenset({STRUCTURED_OUTPUTS, JSON_SCHEMA, *READERS})


@dataclass(frozen=True)
class Form:
    """What a text must be.

    Attributes:
        parameter: the field of the request that says so; empty where the text may be anything.
        place: the place in the request, such as "structured_outputs.json".
        guided: the same as one of the fields that guidance reads; empty where the text may be anything.
    """

    parameter: str = ""
    place: str = ""
    guided: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "Form":
        """Read the form of a request; fields that say nothing of it are not looked at.

        Raises:
            Failure: INVALID_ARGUMENT, with the parameter: there are several.
        """
        found = [form for name in (*READERS, STRUCTURED_OUTPUTS, JSON_SCHEMA) for form in _read(name, fields.get(name))]
        if len(found) > 1:
            received = listed(form.parameter for form in found)
            raise invalid_parameter(found[-1].parameter, f"only one field can guide a text, received {received}")
        return found[0] if found else cls()

    def located(self, failure: Failure) -> Failure:
        """Name the place in the request in what guidance says of the field that it has read."""
        for name in self.guided:
            failure.parameter, failure.message = self.parameter, self.place + failure.message.removeprefix(name)
        return failure


def _read(name: str, value: Any) -> list[Form]:
    if value is None:
        return []
    if name == JSON_SCHEMA:
        return [Form(name, name, {"guided_json": value})]
    if name == STRUCTURED_OUTPUTS:
        return [_entry(value)]
    is_object = isinstance(value, dict) and value.get("type") == "json_object"
    if name == "response_format" and is_object and "schema" in value:  # llama.cpp's
        return [Form(name, f"{name}.schema", {"guided_json": value["schema"]})]
    guided = requested({name: value})
    return [Form(name, name, guided)] if guided else []


def _entry(value: Any) -> Form:
    entries = {name: one for name, one in value.items() if one not in (None, False)} if isinstance(value, dict) else {}
    known = {name: reader for name, reader in ENTRIES.items() if reader in READERS}
    if unknown := entries.keys() - known.keys() - {"json_object"}:
        message = f"this server does not support {listed(sorted(unknown))}; use {listed([*known, 'json_object'])}"
        raise invalid_parameter(STRUCTURED_OUTPUTS, message, error_code="unsupported_parameter")
    if len(entries) != 1:
        raise invalid_parameter(STRUCTURED_OUTPUTS, f"expected an object with one of {listed([*known, 'json_object'])}")
    ((name, one),) = entries.items()
    guided = {"response_format": JSON_OBJECT} if name == "json_object" else {known[name]: one}
    return Form(STRUCTURED_OUTPUTS, f"{STRUCTURED_OUTPUTS}.{name}", guided)
