"""Addresses of servers and models."""

import pytest

from tfattn.errors import ServingError
from tfattn.serving.client.transports.address import Address, Spec, is_address, with_model


def test_a_scheme_has_a_default_port():
    assert [Address.of(f"{scheme}://h").port for scheme in ("http", "https", "grpc", "grpcs")] == [80, 443, 8500, 443]
    assert Address.of("grpc://h:1").target == "h:1" and Address.of("http://[::1]:5").target == "[::1]:5"
    assert str(Address.of("http://h:1/gateway/")) == "http://h:1/gateway"
    assert Address.of("grpcs://h").is_encrypted and not Address.of("http://h").is_encrypted


def test_addresses_are_not_folders():
    assert is_address("http://h/m") and is_address("grpcs://h")
    assert not is_address("reports") and not is_address("saved_models/reports") and not is_address("http")


@pytest.mark.parametrize(
    ("url", "server", "spec"),
    [
        ("http://h:8501/m", "http://h:8501", Spec("m")),
        ("grpc://h/m/", "grpc://h:8500", Spec("m")),
        ("grpc://h/m/versions/3", "grpc://h:8500", Spec("m", 3)),
        ("http://h/my%20m/labels/stable", "http://h:80", Spec("my m", None, "stable")),
        ("http://h:8501/v1/models/m:predict", "http://h:8501", Spec("m")),
        ("https://h/gateway/v1/models/m/versions/12:predict", "https://h:443/gateway", Spec("m", 12)),
        ("https://h/gateway/m", "https://h:443/gateway", Spec("m")),
    ],
)
def test_the_model_follows_the_server(url, server, spec):
    assert with_model(url) == (server, spec)


@pytest.mark.parametrize("url", ["http://h:8501", "grpc://h:8500/", "http://h/v1/models", "http://h/v1/models/"])
def test_a_model_is_needed(url):
    with pytest.raises(
        ServingError, match="names no model.*expected (http|grpc)://h:[0-9]+/MODEL.*Add the model's name"
    ):
        with_model(url)
