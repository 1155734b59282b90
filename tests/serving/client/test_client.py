"""The client returns the same predictions and errors over REST and gRPC."""

import json
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from tests.serving import certificate
from tests.serving.servers import RestServer, RpcServer
from tests.serving.stand_ins import TEXTS, Models, Version, example, half_plus_two, signature, sums
from tfattn.errors import ServingError
from tfattn.serving import Client
from tfattn.serving.api.failure import Failure, StatusCode
from tfattn.serving.api.signature import CLASSIFY
from tfattn.serving.models.version import VersionState

SERVERS = {"http": RestServer, "grpc": RpcServer}
NAMES = {"http": "rest", "grpc": "grpc"}
LABELS = ("Leak", "Électronique", "Mechanical")


def reports(number=1, labels=LABELS, **options) -> Version:
    """A classifier: the longer a text, the more it is of the last label."""

    def scores(texts):
        length = np.array([len(text) for text in texts], np.float32)[:, None]
        return np.concatenate([length * 0 + 1, length / 10, length / 20], axis=1)

    def answer(text):
        found = scores(text)
        ids = found.argmax(axis=1)
        return {"label": np.array([labels[one].encode() for one in ids], object), "label_id": ids, "scores": found}

    def classify(inputs):
        texts = [tf.train.Example.FromString(one).features.feature["text"].bytes_list.value[0] for one in inputs]
        classes = np.array([[label.encode() for label in labels]] * len(texts), object)
        return {"classes": classes, "scores": scores(texts)}

    columns = {"scores": (tf.float32, [None, len(labels)])}
    outputs = {"label": TEXTS, "label_id": (tf.int64, [None]), **columns}
    examples = {"inputs": TEXTS}
    return Version(
        "reports",
        number,
        [
            (signature("serving_default", {"text": TEXTS}, outputs), answer),
            (
                signature("classify", examples, {**columns, "classes": (tf.string, [None, 3])}, method=CLASSIFY),
                classify,
            ),
        ],
        **options,
    )


def others() -> Version:
    """Outputs of all kinds: one alone, several, text that is not UTF-8, bytes, nested lists."""

    def compute(text, count):
        raw = np.array([b"\xffraw"] * len(text), object)
        return {
            "text": text,
            "twice": count * 2,
            "raw": raw,
            "kept_bytes": raw,
            "grid": count[:, None, None] * [[1, 2]],
        }

    inputs = {"text": TEXTS, "count": (tf.int64, [None])}
    names = {"text": TEXTS, "twice": (tf.int64, [None]), "raw": TEXTS, "kept_bytes": TEXTS}
    names["grid"] = (tf.int64, [None, 1, 2])
    sent_more = signature("more", inputs, {"text": TEXTS}, defaults={"count": np.int64([3])})
    return Version(
        "others",
        5,
        [(signature("serving_default", inputs, names), compute), (sent_more, lambda text, count: {"text": text})],
    )


@pytest.fixture(params=SERVERS)
def protocol(request):
    return request.param


@pytest.fixture
def server(protocol):
    models = Models(half_plus_two(1), half_plus_two(2), reports(3), sums(), others(), labels={"reports": {"stable": 3}})
    with SERVERS[protocol](models) as started:
        yield started


@pytest.fixture
def client(server, protocol):
    with Client(f"{protocol}://{server.host}") as made:
        yield made


def test_predictions_of_a_classifier_have_labels(client):
    short, long = client.predict("reports", [{"text": "é", "other": "not sent"}, {"text": "x" * 40}])
    assert list(short) == ["label", "label_id", "score", "scores"]
    assert (short["label"], short["label_id"], short["score"]) == ("Leak", 0, 1.0)
    assert long["label"] == "Électronique" and long["scores"] == {"Leak": 1.0, "Électronique": 4.0, "Mechanical": 2.0}
    assert client.predict("reports", []) == []


def test_predictions_of_other_models_are_outputs_by_name(client):
    assert client.predict("half_plus_two", [{"x": 1.0}, {"x": 2}]) == [{"y": 2.5}, {"y": 3.0}]
    assert client.predict("sums", [{"a": 1.0, "b": 2.0}]) == [{"c": 3.0, "d": -1.0}]
    assert client.predict("others", [{"text": "é", "count": 4}]) == [
        {"grid": [[4, 8]], "kept_bytes": "\ufffdraw", "raw": "\ufffdraw", "text": "é", "twice": 8}
    ]


def test_a_data_frame_is_accepted_and_numbers_for_texts_are_sent_as_text(client):
    frame = pd.DataFrame({"text": [7, 1234567], "count": [4, 5], "other": None}, index=[9, 3])
    expected = client.predict("others", [{"text": "7", "count": 4}, {"text": "1234567", "count": 5}])
    assert client.predict("others", frame) == expected == client.predict("others", frame.to_dict("records"))
    assert client.predict("others", frame[:0]) == []


def test_lists_of_texts_may_differ_in_length(protocol):
    def longest(context, choices):
        places = [np.argmax([len(text) for text in row]) for row in choices]
        return {"choice": choices[np.arange(len(places)), places], "scores": np.ones(choices.shape, np.float32)}

    inputs = {"context": TEXTS, "choices": (tf.string, [None, None])}
    outputs = {"choice": TEXTS, "scores": (tf.float32, [None, None])}
    model = Version("endings", 1, [(signature("serving_default", inputs, outputs), longest)])
    rows = [{"context": "a", "choices": ["x", "yyy"]}, {"context": "b", "choices": ["zz"]}]
    with SERVERS[protocol](Models(model)) as server, Client(f"{protocol}://{server.host}") as client:
        found = client.predict("endings", rows)
    assert found == [{"choice": "yyy", "scores": [1.0, 1.0]}, {"choice": "zz", "scores": [1.0, 1.0]}]


def test_optional_inputs_may_be_omitted_over_grpc(client, protocol):
    if protocol == "grpc":
        assert client.predict("others", [{"text": "a"}, {"text": "b"}], signature="more") == [
            {"text": "a"},
            {"text": "b"},
        ]
    else:
        with pytest.raises(ServingError, match="expected count, received text"):
            client.predict("others", [{"text": "a"}], signature="more")


def test_another_signature_may_be_called(client):
    sent = [{"inputs": example(x=20.0).SerializeToString()}]
    assert client.predict("half_plus_two", sent, signature="regress") == [{"outputs": 12.0}]


def test_metadata_has_inputs_and_outputs(client):
    assert client.inputs("sums") == ("a", "b")
    assert client.inputs("half_plus_two", signature="classify") == ("inputs",)
    known = client.metadata("others")
    assert known.version == 5 and known.signatures["serving_default"].inputs == {
        "text": "DT_STRING",
        "count": "DT_INT64",
    }
    assert set(known.signatures["more"].outputs) == {"text"}


def test_versions_and_labels(client, server):
    client.predict("half_plus_two", [{"x": 1.0}], version=1)
    client.predict("reports", [{"text": "a"}], label="stable")
    first, second = server.models.find("half_plus_two", 1), server.models.find("half_plus_two", 2)
    assert len(first.calls) == 1 and not second.calls
    assert client.metadata("half_plus_two", version=1).version == 1
    with pytest.raises(ServingError, match="Unrecognized servable version label: x"):
        client.predict("reports", [{"text": "a"}], label="x")


def test_labels_are_requested_once_per_version_and_match_the_scores(client, server):
    rows = [{"text": "x" * 40}]
    for _ in range(3):
        assert client.predict("reports", rows)[0]["label"] == "Électronique"
    old = server.models.find("reports")
    assert [call[0] for call in old.calls] == ["serving_default", "classify", "serving_default", "serving_default"]
    new = reports(4, labels=LABELS[::-1])
    server.models.versions["reports"] = {4: new}
    (answer,) = client.predict("reports", rows)
    assert answer["label"] == "Électronique" and list(answer["scores"]) == list(LABELS[::-1])
    assert answer["scores"]["Mechanical"] == 1.0


def test_a_new_version_is_used_soon(client, server, monkeypatch):
    monkeypatch.setattr("tfattn.serving.client.client.FRESH_SECONDS", 0.0)
    client.predict("half_plus_two", [{"x": 1.0}])
    new = half_plus_two(7)
    server.models.versions["half_plus_two"][7] = new
    client.predict("half_plus_two", [{"x": 1.0}])
    assert len(new.calls) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda c: c.predict("reports", [{"texts": "a"}]),
            "a row lacks an input: expected text, received texts. Did you",
        ),
        (lambda c: c.predict("sums", [{"a": 1.0, "b": 1.0}, {"a": 1.0}]), "expected b, received a"),
        (
            lambda c: c.predict("foo", [{"x": 1.0}]),
            "model foo: the server has no such model.*received .*Latest\\(foo\\)",
        ),
        (
            lambda c: c.predict("sums", [{"a": 1.0, "b": 1.0}], version=9),
            "no such version of it.*Specific\\(sums, 9\\)",
        ),
        (lambda c: c.metadata("sums", version=9), "no such version"),
        (lambda c: c.predict("reports", ["a text"]), "a row is not a mapping: .*received str 'a text'"),
        (
            lambda c: c.predict("sums", [{}], signature="defualt"),
            "no such signature: expected default, serving_default.*Did you mean `default`",
        ),
        (lambda c: c.predict("sums", [{"a": "text", "b": 1.0}]), "refuses the request: received .*"),
        (lambda c: c.predict("sums", [{"a": [1.0, 2.0], "b": 1.0}, {"a": 1.0, "b": 1.0}]), "refuses the request"),
    ],
)
def test_errors_name_the_cause(client, call, message):
    with pytest.raises(ServingError, match=message):
        call(client)


def test_errors_have_the_message_of_the_server(client, server):
    server.models.find("reports").error_to_raise = Failure(StatusCode.UNAVAILABLE, "the queue is full")
    with pytest.raises(ServingError, match="reports: the server does not answer: received .*the queue is full"):
        client.predict("reports", [{"text": "a"}])
    server.models.find("reports").error_to_raise = ZeroDivisionError()
    with pytest.raises(ServingError, match="the server cannot answer: received .*The server failed"):
        client.predict("reports", [{"text": "a"}])


def test_requests_are_retried_only_with_retries(client, server, protocol, monkeypatch):
    monkeypatch.setattr("tfattn.serving.client.client.FIRST_WAIT", 0.01)
    version = server.models.find("reports")
    version.error_to_raise = Failure(StatusCode.UNAVAILABLE, "busy")
    with Client(f"{protocol}://{server.host}", retries=3) as patient:
        with pytest.raises(ServingError, match="busy"):
            patient.predict("reports", [{"text": "a"}])
        assert len(version.calls) == 4
        threading.Timer(0.05, lambda: setattr(version, "error_to_raise", None)).start()
        with Client(f"{protocol}://{server.host}", retries=20) as more_patient:
            assert more_patient.predict("reports", [{"text": "a"}])
    version.error_to_raise = Failure(StatusCode.INVALID_ARGUMENT, "wrong")
    version.calls.clear()
    with pytest.raises(ServingError, match="wrong"):
        client.predict("reports", [{"text": "a"}])
    assert len(version.calls) == 1


def test_retries_wait_for_a_server_that_starts(protocol, monkeypatch):
    monkeypatch.setattr("tfattn.serving.client.client.FIRST_WAIT", 0.05)
    with SERVERS[protocol](Models(half_plus_two())) as started:
        port = started.port
    address = f"{protocol}://127.0.0.1:{port}"
    with Client(address, timeout=30) as hurried, pytest.raises(ServingError, match=f"{address}.*`tfattn serve` starts"):
        hurried.predict("half_plus_two", [{"x": 1.0}])
    answers = []
    with Client(address, timeout=30, retries=50) as patient:
        asking = threading.Thread(target=lambda: answers.extend(patient.predict("half_plus_two", [{"x": 1.0}])))
        asking.start()
        time.sleep(0.2)
        with SERVERS[protocol](Models(half_plus_two()), **{f"{NAMES[protocol]}_port": port}):
            asking.join(60)
    assert answers == [{"y": 2.5}]


def test_a_server_that_does_not_answer_in_time_is_an_error(client, server, protocol):
    version = server.models.find("reports")
    server.do(version.gate.clear)
    with Client(f"{protocol}://{server.host}", timeout=0.3) as hurried:
        start = time.monotonic()
        with pytest.raises(ServingError, match="did not answer in time"):
            hurried.predict("reports", [{"text": "a"}])
        assert time.monotonic() - start < 20
    server.do(version.gate.set)


def test_the_token_is_sent(protocol, tmp_path):
    (tmp_path / "token").write_text("s3cret")
    (tmp_path / "token").chmod(0o600)
    with SERVERS[protocol](Models(half_plus_two()), token_file=tmp_path / "token") as server:
        with Client(f"{protocol}://{server.host}", token="s3cret") as client:
            assert client.predict("half_plus_two", [{"x": 1.0}]) == [{"y": 2.5}]
        stranger = Client(f"{protocol}://{server.host}")
        with stranger, pytest.raises(ServingError, match="wants to know who asks.*Give its token: `token`"):
            stranger.predict("half_plus_two", [{"x": 1.0}])


def test_tls_with_a_self_signed_certificate(protocol, tmp_path):
    written, key = certificate.make(tmp_path)
    with SERVERS[protocol](Models(half_plus_two()), tls_certificate=written, tls_key=key) as server:
        with Client(f"{protocol}s://{server.host}", authority=written) as client:
            assert client.predict("half_plus_two", [{"x": 1.0}]) == [{"y": 2.5}]
        trusting_others = Client(f"{protocol}s://{server.host}", timeout=30)
        with trusting_others, pytest.raises(ServingError, match="the server does not answer"):
            trusting_others.predict("half_plus_two", [{"x": 1.0}])
    with pytest.raises(ServingError, match="none: cannot read the certificates"):
        Client(f"{protocol}s://{server.host}", authority=tmp_path / "none")


def test_many_threads_may_use_a_client(client):
    answers = [None] * 8

    def ask(index):
        answers[index] = [client.predict("half_plus_two", [{"x": float(index)}])[0]["y"] for _ in range(10)]

    threads = [threading.Thread(target=ask, args=[index]) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[index / 2 + 2] * 10 for index in range(8)]


def answering(*replies: bytes) -> str:
    """The address of a server that gives each connection its reply and closes it."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        with listening:
            for reply in replies:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(reply)

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>bad gateway</html>",
            "does not answer: received 502 <html>bad gateway",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>hello</html>", "does not speak TF Serving's API"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"metadata": 5}', "does not speak TF Serving's API"),
        (b"HTTP/1.1 200 OK\r\n\r\n[1]", "does not speak TF Serving's API"),
        (b"HTTP/1.1 418 Teapot\r\n\r\n", "cannot answer: received 418 Teapot"),
        (b"nonsense\r\n\r\n", "the server does not answer: received cannot be reached"),
        (b"", "the server does not answer: received cannot be reached"),
    ],
)
def test_other_programs_are_not_model_servers(reply, message):
    with pytest.raises(ServingError, match=message):
        Client(answering(reply)).metadata("m")


def test_a_closed_connection_is_opened_again():
    metadata = {"model_spec": {"version": "1"}, "metadata": {"signature_def": {"signature_def": {}}}}
    body = json.dumps(metadata).encode()
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    client = Client(answering(reply, reply, reply))
    for _ in range(3):
        assert client.metadata("m").version == 1


@pytest.mark.parametrize("address", ["127.0.0.1:8501", "ftp://a", "http://", "http://a:x", "http://a:99999", "reports"])
def test_an_invalid_address_is_refused(address):
    with pytest.raises(ServingError, match="not an address.*expected http://HOST:PORT"):
        Client(address)


def test_a_model_that_failed_to_load_is_not_served(protocol):
    failed = half_plus_two(1, state=VersionState.END)
    with SERVERS[protocol](Models(failed)) as server, Client(f"{protocol}://{server.host}") as client:
        pytest.raises(ServingError, client.inputs, "half_plus_two").match("It may still be loading")


def test_a_client_writes_no_output():
    code = "from tfattn.serving import Client; Client('grpc://127.0.0.1:1').close()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def test_rest_does_not_import_tensorflow():
    code = (
        "import sys; from tfattn.serving import Client; Client('http://127.0.0.1:1')\n"
        "print([name for name in ('tensorflow', 'numpy', 'keras') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
