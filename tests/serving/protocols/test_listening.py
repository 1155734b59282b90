"""Listening addresses and the need for a token."""

import json
import subprocess
import sys

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


LIMITED = """
import resource, sys
from tfattn.errors import ServingError
from tfattn.serving.protocols.listening import connections_within_limit

soft, hard, wanted, models = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
try:
    print(connections_within_limit(wanted, models=models), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
except ServingError as error:
    print(error)
"""


def limited(*numbers: int) -> tuple[str, list[dict]]:
    """Return the result and the log in a process with a soft and a hard limit."""
    command = [sys.executable, "-c", LIMITED, *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip(), [json.loads(line) for line in done.stderr.splitlines()]


@pytest.mark.parametrize(
    ("soft", "hard", "left"),
    [
        (2500, 3000, "1000 2500"),  # enough
        (500, 3000, "1000 3000"),  # enough once it is raised
    ],
)
def test_the_limit_is_raised_as_needed(soft, hard, left):
    assert limited(soft, hard, 1000, 2) == (left, [])


def test_a_low_hard_limit_reduces_connections_and_is_logged():
    answer, (line,) = limited(300, 500, 1000, 2)
    assert answer == "188 500"
    assert line["event"] == "few_file_descriptors"
    assert (line["limit"], line["wanted"], line["max_connections"]) == (500, 2124, 188)


def test_a_server_without_enough_descriptors_does_not_start():
    answer, _ = limited(100, 120, 10, 2)
    assert answer == (
        "the server may open too few files: expected 144 file descriptors, for 2 models and 10 connections of each "
        "protocol, received a limit of 120. Raise the limit, for example with `ulimit -n 144`."
    )
