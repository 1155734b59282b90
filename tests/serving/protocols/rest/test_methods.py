"""Routing of requests: rows 1 to 11."""

import pytest
from grpc import StatusCode
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.methods import Route, is_api, route

METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"]


def refused(method, target) -> str:
    with pytest.raises(Failure) as caught:
        route(method, target.encode())
    assert caught.value.code is StatusCode.INVALID_ARGUMENT
    return caught.value.message


def malformed(method, target):
    assert refused(method, target) == f"Malformed request: {method} {target}"


def test_row_1_calls():
    for api in ("predict", "classify", "regress"):
        assert route("POST", f"/v1/models/m:{api}".encode()) == Route(api, "m", None, None)
        assert route("POST", f"/v1/models/m/versions/1:{api}".encode()) == Route(api, "m", 1, None)
        assert route("POST", f"/v1/models/m/labels/stable:{api}".encode()) == Route(api, "m", None, "stable")


def test_rows_55_to_59_status_and_metadata():
    assert route("GET", b"/v1/models/m") == Route("status", "m", None, None)
    assert route("GET", b"/v1/models/m/versions/007") == Route("status", "m", 7, None)
    assert route("GET", b"/v1/models/m/labels/x") == Route("status", "m", None, "x")
    assert route("GET", b"/v1/models/m/metadata") == Route("metadata", "m", None, None)
    assert route("GET", b"/v1/models/m/versions/0/metadata") == Route("metadata", "m", 0, None)
    assert route("GET", b"/v1/models/m/METADATA").api == "status", "as TF Serving dispatches it"


def test_row_2_unknown_paths():
    for path in ("/v1/foo", "/v1/", "/v1/models/", "/v1/models/m/", "/v1/models/m/versions/", "/v1/models/m:"):
        malformed("GET", path)
        malformed("POST", path)


def test_row_3_no_model():
    for path in ("/v1/models", "/v1/models/versions/1"):
        assert refused("GET", path) == "Missing model name in request."
    assert route("GET", b"/v1/models/metadata").model == "metadata"


def test_row_4_wrong_methods_and_words():
    malformed("GET", "/v1/models/m:predict")
    for path in (
        "/v1/models",
        "/v1/models/m/metadata",
        "/v1/models/m/version/50:predict",
        "/v1/models/m/label/x:predict",
    ):
        malformed("POST", path)


def test_row_5_versions_are_numbers_and_not_labelled_as_well():
    malformed("POST", "/v1/models/m/versions/1/labels/x:predict")
    malformed("POST", "/v1/models/m/versions/HELLO:predict")
    malformed("POST", "/v1/models/m/versions/-1:predict")
    malformed("GET", "/v1/models/m/versions/\N{ARABIC-INDIC DIGIT ONE}")


def test_row_6_versions_beyond_int64():
    for method, end in (("POST", ":predict"), ("GET", ""), ("GET", "/metadata")):
        for number in ("18446744073709551615", str(2**63), "9" * 5000):
            message = f"Failed to convert version: {number} to numeric."
            assert refused(method, f"/v1/models/m/versions/{number}{end}") == message
    assert route("GET", f"/v1/models/m/versions/{2**63 - 1}".encode()).version == 2**63 - 1
    assert route("GET", b"/v1/models/m/versions/" + b"0" * 5000 + b"1").version == 1


def test_row_7_other_methods():
    for method in ("PUT", "DELETE", "PATCH", "HEAD", "TRACE"):
        malformed(method, "/v1/models/m")
        malformed(method, "/v1/models/m:predict")


def test_row_8_other_paths():
    assert is_api(b"/v1/x") and is_api(b"/V1/")
    assert not is_api(b"/v1") and not is_api(b"/") and not is_api(b"/v2/models") and not is_api(b"//v1/models")


def test_row_9_the_case_of_paths():
    assert route("POST", b"/V1/Models/Name/VERSIONS/1:predict") == Route("predict", "Name", 1, None)
    malformed("POST", "/v1/models/m:PREDICT")


def test_row_10_the_query_is_a_part_of_the_path():
    malformed("POST", "/v1/models/m:predict?x=1")
    assert route("GET", b"/v1/models/m?x=1").model == "m?x=1"


def test_row_11_names_are_decoded():
    assert route("POST", b"/v1/models/my%20m:predict").model == "my m"
    assert route("POST", b"/v1/models/a%2Fb%3A/labels/%C3%A9:predict") == Route("predict", "a/b:", None, "é")
    assert route("GET", b"/v1/models/%ff%zz").model == "\ufffd%zz"
    assert route("GET", b"/v1/models/a+b").model == "a+b"


@settings(deadline=None)
@given(st.sampled_from(METHODS), st.binary(max_size=30), st.booleans())
def test_any_path_is_a_route_or_refused(method, path, is_model):
    try:
        found = route(method, (b"/v1/models/" if is_model else b"/v1/") + path)
    except Failure as failure:
        failure.message.encode()
    else:
        found.model.encode()
