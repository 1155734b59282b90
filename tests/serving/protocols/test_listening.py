"""Addresses: who reaches them, and who may without a token."""

import pytest

from tfattn.errors import ServingError
from tfattn.serving.protocols.listening import check_exposure
from tfattn.serving.section import Serving


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "models.example.org"])
def test_an_address_beyond_this_machine_needs_a_token_or_a_word(host):
    with pytest.raises(ServingError, match="host: .*expected 127.0.0.1, or a token_file.*insecure=true"):
        check_exposure(Serving(host=host))
    check_exposure(Serving(host=host, token_file="token"))
    check_exposure(Serving(host=host, insecure=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_this_machine_alone_needs_none(host):
    check_exposure(Serving(host=host))
