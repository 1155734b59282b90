"""A server with a model that writes texts, as a process."""

from collections.abc import Iterator

import openai
import pytest

from benchmarks.serving.running import Running, running


@pytest.fixture(scope="session")
def server(authored) -> Iterator[Running]:
    """The built-in server over it; 4 texts at a time are fewer than the tests ask for."""
    with running(authored, worker_threads=1, texts=4, timeout_seconds=300) as server:
        yield server


@pytest.fixture
def client(server) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, asking that server."""
    with openai.OpenAI(base_url=f"{server.rest}/v1", api_key="none", max_retries=0) as client:
        yield client
