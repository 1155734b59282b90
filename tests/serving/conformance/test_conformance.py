"""The built-in server against the whole list; and servers that are wrong, which every check notices."""

import math
import shutil
from typing import get_args

import grpc
import pytest

from tests.serving.conformance import wrong_servers
from tfattn.errors import ServingError
from tfattn.serving.conformance import fixtures
from tfattn.serving.conformance.check import DEVIATIONS, Check, Mismatch, Skipped, either
from tfattn.serving.conformance.expect import Server, same
from tfattn.serving.conformance.run import CHECKS, conformance, run_check, summary
from tfattn.serving.section import Deviation, Serving

# How a server can be wrong: an HTTP status, body and content type, and a gRPC code.
WRONG = {
    "says yes": (200, b'{"wrong": true}', "application/json", grpc.StatusCode.OK),
    "says nothing": (200, b"", "application/json", grpc.StatusCode.OK),
    "says no": (400, b'{"error": "wrong"}', "application/json", grpc.StatusCode.INVALID_ARGUMENT),
    "fails": (500, b'{"error": "wrong"}', "application/json", grpc.StatusCode.UNKNOWN),
    "is no such server": (418, b"<html>", "text/html", grpc.StatusCode.RESOURCE_EXHAUSTED),
}
# Rows on which each of them is right, or cannot be told: row 89 asks for ports that a test cannot have.
RIGHT = {"says yes": {58, 89}, "says nothing": {12, 89}}


@pytest.fixture(scope="module")
def results():
    """What came of each check of the built-in server."""
    return list(conformance(engine="builtin"))


@pytest.mark.alone
def test_the_built_in_server_answers_as_the_list_says(results):
    print(summary(results))
    wrong = [str(result) for result in results if result.outcome == "failed"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.alone
def test_all_that_settings_can_show_is_shown(results):
    assert {result.check.row for result in results if result.outcome == "skipped"} == {89}


@pytest.mark.alone
@pytest.mark.slow
def test_each_deviation_can_be_switched_off():
    names = get_args(Deviation)
    results = list(conformance(overrides=[f"as_tf_serving=[{', '.join(names)}]"]))
    assert not [str(result) for result in results if result.outcome == "failed"]
    others = {result.detail.split()[0] for result in results if result.outcome == "deviation"}
    assert not others & set(names)


def test_the_settings_name_no_deviation_that_is_not_allowed():
    assert set(get_args(Deviation)) <= DEVIATIONS.keys()


def test_the_default_ports_are_those_of_tf_serving():
    assert (Serving().grpc_port, Serving().rest_port) == (8500, 8501)


def test_every_row_of_the_list_has_a_check():
    assert {check.row for check in CHECKS} == set(range(1, 90))


@pytest.fixture
def written(once, tmp_path):
    """A folder of the fixture models."""
    shutil.copytree(once("conformance", fixtures.write_models), tmp_path, dirs_exist_ok=True)
    fixtures.write_models(tmp_path)  # with the paths of this folder
    return tmp_path


@pytest.mark.parametrize("how", WRONG)
def test_every_check_notices_a_wrong_server(how, written):
    status, body, kind, code = WRONG[how]
    before = sorted(written.rglob("*"))
    with wrong_servers.rest(status, body, kind) as rest, wrong_servers.rpc(code) as rpc:
        server = Server(rest=rest, grpc=rpc, models=written, patience=0.2)
        results = [run_check(check, server) for check in CHECKS]
        server.close()
    not_noticed = [str(result) for result in results if result.outcome != "failed"]
    assert {int(text[:3]) for text in not_noticed} == RIGHT.get(how, {89}), "\n".join(not_noticed)
    assert sorted(written.rglob("*")) == before


def test_what_an_address_is_missing_for_is_skipped():
    server = Server(rest=None, grpc=None, models=None)
    skipped = [run_check(check, server) for check in CHECKS]
    assert {result.outcome for result in skipped} == {"skipped"}
    assert {result.detail.split()[1] for result in skipped} == {"--rest", "--grpc", "--models"}


@pytest.mark.parametrize("address", [{"rest": "http://127.0.0.1:9"}, {"grpc": "127.0.0.1:9"}])
def test_a_server_that_is_not_there_is_said_so(address):
    with pytest.raises(ServingError, match="cannot be reached"):
        list(conformance(**address))


def test_a_server_with_other_models_is_said_so():
    with (
        wrong_servers.rest(404, b'{"error": "x"}', "application/json") as rest,
        pytest.raises(ServingError, match="does not serve the fixture models.*--write-models"),
    ):
        list(conformance(rest=rest))


def test_a_server_that_does_not_start_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(fixtures, "write_models", lambda folder: None)
    with pytest.raises(ServingError, match="the server does not start"):
        list(conformance(engine="builtin"))


def test_a_result_names_expected_and_received():
    def wrong(_):
        raise Mismatch("200", "500")

    result = run_check(Check(7, "something", wrong), None)
    assert str(result) == "  7  failed     something\n                expected 200, received 500"


def test_a_stumbling_check_has_failed():
    assert run_check(Check(7, "something", lambda _: {}["key"]), None).outcome == "failed"


def test_a_check_may_not_apply():
    def skipped(_):
        raise Skipped("needs --rest URL")

    assert run_check(Check(7, "something", skipped), None).outcome == "skipped"


def test_deviations_are_named_and_those_that_are_none_are_not_accepted():
    def right():
        pass

    def wrong():
        raise Mismatch("this", "that")

    assert either(right, "nesting", wrong) is None
    assert either(wrong, "nesting", right) == "nesting"
    with pytest.raises(Mismatch, match="expected this; or, nesting: this, received that"):
        either(wrong, "nesting", wrong)
    result = run_check(Check(7, "something", lambda _: "nesting"), None)
    assert (result.outcome, result.detail[:7]) == ("deviation", "nesting")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (12, 12.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        (None, 0, False),
        (math.nan, math.nan, True),
        (math.inf, -math.inf, False),
        (2**63, float(2**63), True),
        (2**53 + 1, 2**53, False),
        ([1, 2], [1, 2, 3], False),
        ({"a": [1.0], "b": {}}, {"b": {}, "a": [1]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
    ],
)
def test_json_is_compared_by_meaning(one, other, is_same):
    assert same(one, other) is is_same
    assert same(other, one) is is_same


def test_fixtures_are_written_once(written):
    before = {path: path.stat().st_mtime_ns for path in written.rglob("*.pb")}
    fixtures.write_models(written)
    assert {path: path.stat().st_mtime_ns for path in written.rglob("*.pb")} == before
    assert len(before) == sum(len(versions) for _, versions in fixtures.VERSIONS.values())
