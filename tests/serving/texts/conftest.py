"""A server with a language model, as a process."""

from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from benchmarks.serving.running import Running, running


@pytest.fixture(scope="session")
def server(authored, until_left) -> Running:
    """The built-in server over it; 4 texts at a time are fewer than the tests ask for."""
    server = running(authored, worker_threads=1, texts=4, timeout_seconds=300)
    return until_left(Path(__file__).parent).enter_context(server)


@pytest.fixture
def client(server) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, asking that server."""
    with openai.OpenAI(base_url=f"{server.rest}/v1", api_key="none", max_retries=0) as client:
        yield client
