"""The sandbox: requests are compiled or refused within limits, and later requests are answered."""

import json
import resource
import subprocess
import sys
import threading

import pytest

from tfattn.errors import ServingError
from tfattn.guidance.grammar import field_grammar
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


@pytest.fixture(scope="module")
def costs():
    """Return seconds and bytes of each bomb, measured in a small process: the kernel counts a parent's memory, too."""
    finished = subprocess.run([sys.executable, __file__], check=True, capture_output=True, text=True)
    return json.loads(finished.stdout)


@pytest.mark.parametrize("name", BOMBS)
def test_expensive_grammars_are_refused_within_limits(name, costs):
    assert costs[name]["refused_at"] in (None, "guided_json")
    assert costs[name]["sandbox_seconds"] < 5
    assert costs[name]["caller_seconds"] < 0.5  # the caller only waits
    assert costs[name]["sandbox_bytes"] <= MEMORY
    assert costs[name]["next_request_is_answered"]


def test_errors_are_those_of_the_grammar():
    for name, value in (("guided_regex", 1), ("guided_json", {"proprties": {}}), ("response_format", {"type": "xml"})):
        with pytest.raises(ServingError) as expected:
            field_grammar(name, value)
        with pytest.raises(ServingError) as raised:
            SANDBOX.grammar(name, value)
        assert str(raised.value) == str(expected.value)


def test_the_sandbox_is_thread_safe():
    found = {}
    threads = [
        threading.Thread(target=lambda one=number: found.update({one: SANDBOX.grammar("guided_regex", f"a{{{one}}}")}))
        for number in range(1, 9)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: field_grammar("guided_regex", f"a{{{number}}}") for number in range(1, 9)}


def _cost(value):
    """Return what a grammar costs this process and the sandbox; `sandbox_bytes` is the peak of all sandboxes so far."""
    sandbox, refused_at = Sandbox(), None
    before = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    try:
        sandbox.grammar("guided_json", value)
    except ServingError as error:
        refused_at = error.where.split(".")[0].split("[")[0]
    answered = sandbox.grammar("guided_choice", ["a"]) == field_grammar("guided_choice", ["a"])
    del sandbox  # ends its process, which is then counted
    after = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    return {
        "refused_at": refused_at,
        "sandbox_seconds": after[0].ru_utime - before[0].ru_utime,
        "caller_seconds": after[1].ru_utime - before[1].ru_utime,
        "sandbox_bytes": after[0].ru_maxrss * 1024,
        "next_request_is_answered": answered,
    }


if __name__ == "__main__":
    print(json.dumps({name: _cost(value) for name, value in BOMBS.items()}))
