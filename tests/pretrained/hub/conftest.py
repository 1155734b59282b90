"""The real clients of hubs against servers on this machine."""

import pytest

from tests.pretrained.hub.hub_server import HubServer
from tests.pretrained.hub.stand_in import client_of
from tfattn import hub


@pytest.fixture
def server():
    """A hub without repositories."""
    server = HubServer()
    yield server
    server.close()


@pytest.fixture
def client(server, tmp_path):
    """The constants of huggingface_hub, which point at the server and an empty cache."""
    with client_of(server, tmp_path / "cache") as constants:
        yield constants


@pytest.fixture
def fresh():
    """Return a function that opens an address as a new process does."""

    def fresh(address: str) -> hub.Snapshot:
        hub.open.cache_clear()
        return hub.open(address)

    return fresh
