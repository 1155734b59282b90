"""The server as a process: what it prints, answers, survives and how it ends."""

import json
import os
import shutil
import signal
import socket
import subprocess
import urllib.request

import grpc
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from benchmarks.serving.running import Running, descendants, wait_until
from tfattn.serving.api.tensors import strings, to_proto


def predict(server, *texts, model="reports"):
    body = json.dumps({"instances": list(texts)}).encode()
    with urllib.request.urlopen(f"{server.rest}/v1/models/{model}:predict", body) as response:
        return [answer["label"] for answer in json.load(response)["predictions"]]


def models_of(server):
    return {entry["name"] for entry in json.loads(server.get("/models.json"))}


def test_both_protocols_answer_from_the_newest_version(server):
    assert predict(server, "x", "x" * 30) == ["Électronique", "Leak"]
    with grpc.insecure_channel(server.grpc) as channel:
        request = predict_pb2.PredictRequest()
        request.model_spec.name = "reports"
        request.inputs["text"].CopyFrom(to_proto(strings([b"x" * 30])))
        response = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request)
    assert response.model_spec.version.value == 10
    assert response.outputs["label"].string_val[0] == b"Leak"


def test_startup_prints_models_and_an_example(server):
    log = server.log.read_text()
    assert "reports" in log and "pairs" in log
    (curl,) = [line for line in log.splitlines() if line.startswith("curl ")]
    answer = subprocess.run(curl, shell=True, capture_output=True, check=True)
    assert "label" in json.loads(answer.stdout)["predictions"][0]


def test_it_listens_on_this_machine_only(server):
    port = int(server.rest.rsplit(":", 1)[1])
    assert server.rest.startswith("http://127.0.0.1:")
    with socket.create_connection(("127.0.0.1", port)):
        pass
    listening = subprocess.run(["ss", "-ltnH", f"sport = :{port}"], capture_output=True, text=True, check=True).stdout
    assert "127.0.0.1" in listening and "0.0.0.0" not in listening.split()[3]


def test_probes_and_metrics(server):
    assert server.get("/v1/health/live") and server.get("/v1/health/ready")
    assert b":tensorflow:serving:request_count" in server.get("/monitoring/prometheus/metrics")


def test_startup_errors_are_one_line(server, models, tmp_path, command):
    port = server.rest.rsplit(":", 1)[1]
    taken = command("serve", models, "--engine", "builtin", "--set", f"rest_port={port}")
    assert taken.status == 1 and f"127.0.0.1:{port}: cannot listen" in taken.errors
    nothing = command("serve", tmp_path / "nowhere", "--engine", "builtin")
    assert nothing.status == 1 and "nowhere" in nothing.errors
    wrong = command("serve", models, "--set", "rest_prot=1", "--set", "max_rows=0")
    assert wrong.status == 2 and "Did you mean `rest_port`?" in wrong.errors and "max_rows" in wrong.errors


def test_models_are_added_and_removed(server, served):
    before = models_of(server)
    shutil.copytree(served / "reports/9", served / "added/1")
    wait_until(lambda: server.is_available("added"))
    assert models_of(server) == {*before, "added"}
    assert predict(server, "x" * 30, model="added") == ["Leak"]
    shutil.rmtree(served / "added")
    wait_until(lambda: models_of(server) == before)
    assert predict(server, "x" * 30) == ["Leak"]


def test_no_process_outlives_the_server(models):
    server = Running(models / "reports", worker_threads=1)
    others = list(descendants(server.process_id))
    assert len(others) >= 2  # the version's, and the one that it was forked from
    os.kill(server.process_id, signal.SIGKILL)
    wait_until(lambda: not any(os.path.exists(f"/proc/{process}") for process in others))
    server.end()
