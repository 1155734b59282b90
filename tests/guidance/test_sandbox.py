"""The sandbox: whatever a request asks for is read or refused within limits, and the next request is answered."""

import resource
import threading

import pytest

from tfattn.errors import ServingError
from tfattn.guidance.grammar import grammar_of
from tfattn.guidance.sandbox import MEMORY, Sandbox

SANDBOX = Sandbox()
INNER = {"type": "object", "properties": {f"p{number}": {"type": "string", "maxLength": 50} for number in range(300)}}
BOMBS = {
    "one target by many names": {
        "anyOf": [{"$ref": f"#{number}/$defs/b"} for number in range(2000)],
        "$defs": {"b": INNER},
    },
    "patterns that hold together": {"allOf": [{"pattern": f"(a|b)*a(a|b){{{number}}}c"} for number in range(8, 40)]},
    "factors that hold together": {
        "type": "integer",
        "allOf": [{"multipleOf": prime} for prime in (97, 89, 83, 79, 73)],
    },
    "a chain of references": {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(2_000)} | {"d2000": {}},
    },
    "products": {"allOf": [{"anyOf": [{"required": [f"a{n}"]}, {"required": [f"b{n}"]}]} for n in range(30)]},
    "counts": {"type": "array", "minItems": 10**6, "items": {"type": "string", "minLength": 10**6}},
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_takes_too_much_work_is_refused_within_limits(name):
    before = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    try:
        SANDBOX.grammar("guided_json", BOMBS[name])
    except ServingError as error:
        assert error.where.startswith("guided_json")
    after = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    assert after[0].ru_utime - before[0].ru_utime < 5
    assert after[1].ru_utime - before[1].ru_utime < 0.5  # this process only waits
    # The largest of all children of this process: an earlier one may have been larger.
    assert after[0].ru_maxrss <= max(before[0].ru_maxrss, MEMORY / 1024)
    assert SANDBOX.grammar("guided_choice", ["a"]) == grammar_of("guided_choice", ["a"])


def test_errors_are_those_of_the_grammar():
    for name, value in (("guided_regex", 1), ("guided_json", {"proprties": {}}), ("response_format", {"type": "xml"})):
        with pytest.raises(ServingError) as expected:
            grammar_of(name, value)
        with pytest.raises(ServingError) as raised:
            SANDBOX.grammar(name, value)
        assert str(raised.value) == str(expected.value)


def test_any_thread_may_ask():
    found = {}
    threads = [
        threading.Thread(target=lambda one=number: found.update({one: SANDBOX.grammar("guided_regex", f"a{{{one}}}")}))
        for number in range(1, 9)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: grammar_of("guided_regex", f"a{{{number}}}") for number in range(1, 9)}
