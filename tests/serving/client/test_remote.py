"""`tfattn predict` returns the same with a model on a server as with a model in a folder."""

import json

import numpy as np
import pytest

from tests.serving.servers import RestServer, RpcServer
from tests.serving.stand_ins import TEXTS, Models, Version, signature
from tfattn.errors import ServingError
from tfattn.serving.client.predict import predict
from tfattn.serving.client.remote import RemoteModel

SERVERS = {"http": RestServer, "grpc": RpcServer}


def shouts(number=1) -> Version:
    def compute(text):
        return {"text": np.array([one.decode().upper().encode() for one in text], object)}

    return Version("shouts", number, [(signature("serving_default", {"text": TEXTS}, {"text": TEXTS}), compute)])


@pytest.fixture(params=SERVERS)
def server(request):
    with SERVERS[request.param](Models(shouts(1), shouts(2), labels={"shouts": {"old": 1}})) as started:
        started.url = f"{request.param}://{started.host}"
        yield started


def test_rows_of_a_file_are_answered(server, tmp_path, command):
    (tmp_path / "new.csv").write_text("text,more\né,1\nb,2\n")
    answer = command("predict", f"{server.url}/shouts", "--input", tmp_path / "new.csv", "--batch-size", 1)
    assert answer.status == 0, answer.errors
    assert [json.loads(line) for line in answer.output.splitlines()] == [
        {"source": "é", "text": "É"},
        {"source": "b", "text": "B"},
    ]
    assert len(server.models.find("shouts").calls) == 2


@pytest.mark.parametrize("scheme", SERVERS)
def test_rows_that_exceed_a_request_are_sent_in_parts(scheme, tmp_path, command):
    long = "x" * 300_000
    (tmp_path / "new.txt").write_text(f"{long}\n" * 5 + "ü" * 700_000 + "\nb\n")
    with SERVERS[scheme](Models(shouts()), max_body_mib=1) as server:
        answer = command("predict", f"{scheme}://{server.host}/shouts", "--input", tmp_path / "new.txt")
    lines = [json.loads(line) for line in answer.output.splitlines()]
    assert [line.get("text") for line in lines] == [long.upper()] * 5 + [None, "B"]
    assert answer.status == 1 and "new.txt:6: the model refuses the row" in answer.errors


def test_a_version_is_chosen(server, tmp_path):
    (tmp_path / "new.txt").write_text("a\n")
    predict(RemoteModel(f"{server.url}/shouts/labels/old"), str(tmp_path / "new.txt"), str(tmp_path / "out.jsonl"))
    predict(RemoteModel(f"{server.url}/shouts/versions/1"), str(tmp_path / "new.txt"), str(tmp_path / "out.jsonl"))
    assert len(server.models.find("shouts", 1).calls) == 2 and not server.models.find("shouts", 2).calls


def test_errors_are_one_line(server, command):
    missing = command("predict", server.url)
    assert (
        missing.status == 1 and "names no model" in missing.errors and f"expected {server.url}/MODEL" in missing.errors
    )
    unknown = command("predict", f"{server.url}/shout")
    assert unknown.status == 1 and "model shout: the server has no such model" in unknown.errors
    assert len(unknown.errors.splitlines()) == 1


def test_the_token_comes_from_a_file(tmp_path, command):
    (tmp_path / "token").write_text("s3cret\n")
    (tmp_path / "token").chmod(0o600)
    (tmp_path / "new.txt").write_text("a\n")
    with RestServer(Models(shouts()), token_file=tmp_path / "token") as server:
        url = f"http://{server.host}/shouts"
        asked = ["predict", url, "--input", tmp_path / "new.txt"]
        assert "Give its token" in command(*asked).errors
        assert json.loads(command(*asked, "--token-file", tmp_path / "token").output)["text"] == "A"
        with pytest.raises(ServingError, match="none: cannot read the token"):
            RemoteModel(url, token_file=tmp_path / "none")
