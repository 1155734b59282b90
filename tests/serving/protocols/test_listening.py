"""Listening addresses and the need for a token."""

import pytest

from tfattn.errors import ServingError
from tfattn.serving.protocols.listening import check_exposure
from tfattn.serving.section import Serving


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "models.example.org"])
def test_a_public_address_needs_a_token_or_insecure(host):
    with pytest.raises(ServingError, match="host: .*expected 127.0.0.1, or a token_file.*insecure=true"):
        check_exposure(Serving(host=host))
    check_exposure(Serving(host=host, token_file="token"))
    check_exposure(Serving(host=host, insecure=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_addresses_need_no_token(host):
    check_exposure(Serving(host=host))
