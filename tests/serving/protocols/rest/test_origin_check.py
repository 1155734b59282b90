"""Requests from web pages of other sites are refused; other programs and the server's page are answered."""

import pytest

from tests.serving.protocols.rest.test_application import MODEL, PREDICTIONS, ROWS
from tests.serving.stand_ins import Version, half_plus_two
from tfattn.serving.api.failure import Failure
from tfattn.serving.protocols.rest.origin_check import OriginCheck
from tfattn.serving.section import Serving

EVIL = "http://evil.example"


def is_served(host, origin=None, /, **settings):
    headers = {b"host": host.encode()} | ({} if origin is None else {b"origin": origin.encode()})
    try:
        OriginCheck(Serving(**settings)).check_site(headers)
    except Failure as failure:
        assert failure.http_status == 403
        return False
    return True


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8501", "127.0.0.1:8501", "127.9.9.9", "[::1]:8501", ""])
def test_names_of_this_machine_are_served(host):
    assert is_served(host)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example:8501", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "[", "a@localhost"],
)
def test_other_names_are_refused(host):
    assert not is_served(host)
    assert is_served(host, token_file="token"), "no other site knows the token"


def test_configured_names_are_served():
    assert is_served("models.example:8501", host="models.example", insecure=True)
    assert is_served("a.example.org.", allowed_hosts=("*.example.org",))
    assert not is_served("example.com", allowed_hosts=("*.example.org",))
    assert is_served("10.0.0.1:8501", host="0.0.0.0"), "no site has an address as its name"
    assert not is_served("evil.example", host="0.0.0.0")


@pytest.mark.parametrize(
    "origin", [EVIL, "null", "http://localhost:3000", "https://127.0.0.1:8501.evil.example", "http://["]
)
def test_pages_of_other_origins_are_not_served(origin):
    host = "localhost:8501"
    assert not is_served(host, origin)
    assert is_served(host, origin, cors=True)
    assert is_served(host, origin, token_file="token")


def test_pages_of_this_server_are_served():
    assert is_served("localhost:8501", "http://localhost:8501")
    assert is_served("localhost:8501", "https://models.example.org", allowed_hosts=("models.example.org",))


@pytest.mark.parametrize("path", ["/", "/models.json", MODEL, "/monitoring/prometheus/metrics", "/v1/foo"])
def test_only_health_is_served_under_another_name(server, path):
    assert server.ask("GET", path, Host="evil.example").status == 403
    assert server.ask("GET", path, Origin=EVIL).status == 403
    assert server.ask("GET", "/v1/health/ready", Host="evil.example").status == 200


def test_requests_without_a_preflight_compute_nothing(server):
    simple = [{}, {"Content_Type": "text/plain"}, {"Content_Type": "application/x-www-form-urlencoded"}]
    for headers in simple:
        assert server.post("half_plus_two:predict", ROWS, Origin=EVIL, **headers).status == 403
        answer = server.post("half_plus_two:predict", ROWS, Sec_Fetch_Site="cross-site", **headers)
        assert (answer.status, "expected application/json" in answer.error) == (415, True)
    assert server.post("half_plus_two:predict", ROWS, Content_Type="multipart/form-data; boundary=x").status == 415
    assert not server.models.find("half_plus_two").calls


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON; charset=utf-8", "application/x-www-form-urlencoded", ""]
)
def test_programs_are_answered(server, kind):
    headers = {"Content_Type": kind} if kind else {}
    assert server.post("half_plus_two:predict", ROWS, **headers).json == PREDICTIONS


def test_the_own_page_is_answered_and_cannot_be_framed(server):
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec_Fetch_Site": "same-origin"}
    assert server.post("half_plus_two:predict", ROWS, Content_Type="application/json", **own).json == PREDICTIONS
    headers = server.ask("GET", "/").headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"] and headers["x-frame-options"] == "DENY"


def test_refusals_have_openais_format_in_its_api(serve):
    author = Version("author", 1, [])
    author.pieces = []
    server = serve(author, half_plus_two())
    for headers, status in (({"Host": "evil.example"}, 403), ({"Content_Type": "text/plain"}, 415)):
        error = server.ask("POST", "/v1/completions", {"model": "author"}, **headers).error
        assert error["type"] == "invalid_request_error" and status
