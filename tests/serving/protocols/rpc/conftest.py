"""Servers and ways to call them."""

import time

import grpc
import pytest

from tests.serving.servers import RpcServer
from tests.serving.stand_ins import Models, half_plus_two, sums


@pytest.fixture(scope="session")
def start():
    """Start servers, each for a `with` block."""
    return RpcServer


@pytest.fixture
def server():
    """A server of two versions of half_plus_two, the older one labelled stable, and of sums."""
    models = Models(half_plus_two(1), half_plus_two(2), sums(), labels={"half_plus_two": {"stable": 1}})
    with RpcServer(models) as started:
        yield started


@pytest.fixture
def refused():
    """Return the code and message of a refused call."""

    def refused(call, request, **options):
        with pytest.raises(grpc.RpcError) as caught:
            call(request, timeout=30, **options)
        return caught.value.code(), caught.value.details()

    return refused


@pytest.fixture
def eventually():
    """Wait until a condition is true."""

    def eventually(condition):
        for _ in range(3000):
            if condition():
                return
            time.sleep(0.01)
        raise AssertionError("it never came to that")

    return eventually
