"""Guides for the texts of a model, by what requests ask for in the fields of OpenAI and vLLM."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tfattn.errors import ServingError, listed
from tfattn.guidance import json_text
from tfattn.guidance.automaton import Automaton
from tfattn.guidance.expressions import Choice, Expression, Rule, Text
from tfattn.guidance.guide import WHOLE, Guide, Masks
from tfattn.guidance.json_schema import JsonSchema
from tfattn.guidance.network import Network
from tfattn.guidance.regular_expression import parsed
from tfattn.guidance.tokens import Tokens

MOST_KEPT = 32  # automata
MOST_CHARACTERS = 1 << 20  # of what a request asks for, as JSON
Plan = tuple[Expression, Mapping[str, Expression]]  # what is to be written, and its rules


class Guides:
    """Makes guides for the texts that a model writes.

    Args:
        token_bytes: what each token adds to a text, V of them; nothing for a token that is no text.
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        self._tokens = Tokens(token_bytes)
        self._kept: OrderedDict[tuple[str, str], Masks] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, fields: Mapping[str, Any], *, end_ids: Collection[int]) -> Guide | None:
        """Make the guide that the fields of a request ask for.

        Args:
            fields: of a request, as `json.loads` gives it. `response_format` is OpenAI's: {"type": "text"},
                {"type": "json_object"} or {"type": "json_schema", "json_schema": {"schema": {...}}}; the others are
                vLLM's: `guided_choice`, a list of texts; `guided_json`, a schema; `guided_regex`, a pattern. Other
                fields are not looked at.
            end_ids: the tokens that end a text. Without any, it ends where nothing can follow.

        Returns:
            a guide, or None where the text may be anything.

        Raises:
            ServingError: it is not clear what is asked, or it cannot be held to; `where` is the place in the request.
        """
        asked = {name: fields[name] for name in READERS if fields.get(name) is not None}
        if asked.get("response_format") == {"type": "text"}:
            del asked["response_format"]
        if len(asked) > 1:
            raise ServingError(
                "only one field can guide a text", expected=f"one of {listed(READERS)}", received=listed(asked)
            )
        return next((Guide(self._masks(name, value), end_ids) for name, value in asked.items()), None)

    def _masks(self, name: str, value: Any) -> Masks:
        key = name, json.dumps(value, ensure_ascii=False)
        if len(key[1]) > MOST_CHARACTERS:
            expected, received = f"at most {MOST_CHARACTERS:,} characters", f"{len(key[1]):,}"
            raise ServingError("what guides the text is too long", where=name, expected=expected, received=received)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self._made(name, value)
                if len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]

    def _made(self, name: str, value: Any) -> Masks:
        root, rules = READERS[name](value, name)
        try:
            network = Network(root, rules, self._tokens.alphabet)
            if network.is_empty:
                raise self._error_of(root, rules)
            automaton = Automaton(network)
            if automaton.start == WHOLE:
                raise ServingError("only an empty text fits", expected="something to write")
        except ServingError as error:
            error.where = error.where or name
            raise
        return Masks(self._tokens, automaton)

    def _error_of(self, root: Expression, rules: Mapping[str, Expression]) -> ServingError:
        if Network(root, rules).is_empty:
            return ServingError("no text fits", remedy="A schema that contains itself needs a value that does not.")
        return ServingError(
            "the model's tokens cannot write any text that fits",
            expected="characters that are tokens by themselves",
            remedy="A model with a vocabulary of bytes, such as byte-level BPE, can write every text.",
        )


def _choice(texts: Any, where: str) -> Plan:
    if not (isinstance(texts, list) and texts and all(isinstance(text, str) and text for text in texts)):
        raise ServingError("no list of texts", where=where, expected='such as ["yes", "no"]', received=_shown(texts))
    return Choice(tuple(map(Text, texts))), {}


def _regular_expression(pattern: Any, where: str) -> Plan:
    if not isinstance(pattern, str) or not pattern:
        raise ServingError("no pattern", where=where, expected="a text", received=_shown(pattern))
    return parsed(pattern, where=where), {}


def _schema(schema: Any, where: str) -> Plan:
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise ServingError(f"the schema is no JSON ({error})", where=where) from None
    made = JsonSchema(schema, where=where)
    return made.root, made.rules


def _response_format(value: Any, where: str) -> Plan:
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


READERS: Mapping[str, Callable[[Any, str], Plan]] = {
    "response_format": _response_format,
    "guided_choice": _choice,
    "guided_json": _schema,
    "guided_regex": _regular_expression,
}
