"""An export of a table on the built-in server: what it does not take is refused by name, over REST and gRPC alike."""

import json
import math
import re
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest
from tensorflow_serving.apis import classification_pb2, predict_pb2, prediction_service_pb2_grpc

from tests.serving.stand_ins import example
from tfattn.serving.api.tensors import from_proto, strings, to_proto

ROW = {"age": 39.0, "hours-per-week": 40.0, "job": "clerk"}
NAN, INFINITY = math.nan, math.inf


@pytest.fixture(scope="module")
def stub(server):
    with grpc.insecure_channel(server.grpc) as channel:
        yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


def post(server, body, method="predict"):
    """Status and answer; numbers as Python writes them, NaN and Infinity too."""
    text = body if isinstance(body, str) else json.dumps(body)
    try:
        with urllib.request.urlopen(f"{server.rest}/v1/models/people:{method}", text.encode()) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["error"]


def refused(server, body, method="predict"):
    status, message = post(server, body, method)
    assert status == 400, message
    return message


def without(row, name):
    return {key: value for key, value in row.items() if key != name}


def arrays(*rows):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: strings([text.encode() for text in values]) if isinstance(values[0], str) else np.float32(values)
        for name, values in columns.items()
    }


def predict_request(inputs):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "people"
    for name, array in inputs.items():
        request.inputs[name].CopyFrom(to_proto(array))
    return request


# REST.


def test_a_row_is_answered_with_all_that_a_table_has_to_say(server):
    status, answer = post(server, {"instances": [ROW, {"age": 4e9, "hours-per-week": NAN, "job": "pilot"}]})
    assert status == 200
    near, far = answer["predictions"]
    assert set(near) == {
        "label", "label_id", "probability", "scores", "outside_training_range", "unknown_categories",
        "column_attention",
    }  # fmt: skip
    assert near["probability"] == near["scores"][1] and sum(near["column_attention"]) == pytest.approx(1, abs=1e-5)
    assert (near["outside_training_range"], far["outside_training_range"]) == ("hours-per-week", "age")
    assert (near["unknown_categories"], far["unknown_categories"]) == ("", "job")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (without(ROW, "age"), "keys must be equal to: age,hours-per-week,job. Missing: age"),
        (without(ROW, "job"), "Missing: job"),
        ({}, "Missing: age,hours-per-week,job"),
        ({**ROW, "size": 3}, "key: size of 'instances' list. .*does not have named input: size"),
        ({**without(ROW, "job"), "jobs": "x"}, "does not have named input: jobs"),
        ({**ROW, "age": "39"}, 'key: age of .*JSON Value: "39" Type: String is not of expected type: float'),
        ({**ROW, "hours-per-week": None}, "key: hours-per-week of .*Type: Null is not of expected type: float"),
        ({**ROW, "age": True}, "key: age of .*Type: True is not of expected type: float"),
        ({**ROW, "age": [39.0]}, "key: age of .*Expecting shape"),
        ({**ROW, "job": 3}, "key: job of .*Type: Number is not of expected type: string"),
        ({**ROW, "job": None}, "key: job of .*Type: Null is not of expected type: string"),
        ({**ROW, "age": INFINITY}, "the column `age` holds no finite number in row 2"),
        ({**ROW, "hours-per-week": -INFINITY}, "the column `hours-per-week` holds no finite number in row 2"),
        ({**ROW, "hours-per-week": 1e39}, "the column `hours-per-week` holds no finite number in row 2"),
    ],
)
def test_a_row_that_is_not_taken_is_refused_by_the_columns_name(server, row, message):
    assert refused_as(refused(server, {"instances": [ROW, row]}), message)


def test_a_number_that_no_double_holds_is_refused_by_the_columns_name(server):
    body = json.dumps({"instances": [ROW]}).replace("39.0", "1e400")
    assert refused_as(refused(server, body), "key: age of .*Number too big")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": ["39"]}, "Type: String is not of expected type: float in the input age"),
        ({"hours-per-week": [None]}, "Type: Null is not of expected type: float in the input hours-per-week"),
        ({"job": [3]}, "Type: Number is not of expected type: string in the input job"),
        ({"hours-per-week": [INFINITY]}, "the column `hours-per-week` holds no finite number in row 1"),
    ],
)
def test_a_column_that_is_not_taken_is_refused_by_its_name(server, change, message):
    columns = {name: [value] for name, value in ROW.items()}
    assert refused_as(refused(server, {"inputs": {**columns, **change}}), message)
    assert "Missing named input: age" in refused(server, {"inputs": without(columns, "age")})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": None}, "Feature: age .*is required but could not be found"),
        ({"age": "39"}, "Key: age, .*Data type: string but expected type: float"),
        ({"job": 3.5}, "Key: job, .*Data type: float but expected type: string"),
        ({"age": INFINITY}, "the column `age` holds no finite number in row 1"),
    ],
)
def test_examples_are_refused_by_the_columns_name(server, change, message):
    row = {name: value for name, value in {**ROW, **change}.items() if value is not None}
    assert post(server, {"signature_name": "classify", "examples": [ROW]}, "classify")[0] == 200
    assert refused_as(refused(server, {"signature_name": "classify", "examples": [row]}, "classify"), message)


def refused_as(said, message):
    assert re.search(message, said), said
    return True


# gRPC.


def test_both_protocols_answer_alike(server, stub):
    outputs = stub.Predict(predict_request(arrays(ROW, {**ROW, "job": "baker"}))).outputs
    received = {name: from_proto(name, tensor) for name, tensor in outputs.items()}
    _, answer = post(server, {"instances": [ROW, {**ROW, "job": "baker"}]})
    for place, row in enumerate(answer["predictions"]):
        np.testing.assert_allclose(received["scores"][place], row["scores"], atol=1e-6)
        np.testing.assert_allclose(received["column_attention"][place], row["column_attention"], atol=1e-6)
        assert received["label"][place].decode() == row["label"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (without(arrays(ROW), "age"), "Missing but required: {age}"),
        ({**arrays(ROW), "size": np.float32([1])}, "Sent extra: {size}"),
        ({**without(arrays(ROW), "age"), "ages": np.float32([1])}, "alias not found in signature: ages"),
        ({**arrays(ROW), "age": np.float64([39])}, "to be float but double is provided for the input age"),
        ({**arrays(ROW), "hours-per-week": np.int64([4])}, "but int64 is provided for the input hours-per-week"),
        ({**arrays(ROW), "age": strings([b"39"])}, "to be float but string is provided for the input age"),
        ({**arrays(ROW), "job": np.float32([1])}, "to be string but float is provided for the input job"),
        (arrays({**ROW, "age": -INFINITY}), "the column `age` holds no finite number in row 1"),
        (
            arrays(ROW, {**ROW, "hours-per-week": INFINITY}),
            "the column `hours-per-week` holds no finite number in row 2",
        ),
    ],
)
def test_what_is_not_taken_over_grpc_is_refused_by_the_columns_name(stub, inputs, message):
    with pytest.raises(grpc.RpcError) as caught:
        stub.Predict(predict_request(inputs))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert message in caught.value.details()


def test_examples_over_grpc_are_refused_by_the_columns_name(stub):
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = "people", "classify"
    request.input.example_list.examples.append(example(**ROW))
    assert [one.label for one in stub.Classify(request).result.classifications[0].classes] == ["noise", "real"]
    request.input.example_list.examples.append(example(**without(ROW, "hours-per-week")))
    with pytest.raises(grpc.RpcError, match="hours-per-week") as caught:
        stub.Classify(request)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_good_row_is_answered_beside_bad_ones_of_other_requests(server):
    rows = [{**ROW, "age": INFINITY if number % 3 else 20.0 + number} for number in range(48)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda row: post(server, {"instances": [row]}), rows))
    alone = [post(server, {"instances": [row]}) for row in rows[::3]]
    for (status, answer), (_, expected) in zip(answers[::3], alone, strict=True):
        assert status == 200, answer
        np.testing.assert_allclose(answer["predictions"][0]["scores"], expected["predictions"][0]["scores"], atol=1e-6)
    for number, (status, answer) in enumerate(answers):
        assert number % 3 == 0 or (status == 400 and "the column `age` holds no finite number in row 1" in answer)


# `tfattn predict`.

FILES = {
    "new.tsv": "age\tnote\tjob\thours-per-week\n39\tx\tclerk\t40\n20.5\t\tbaker\t?\n3e1\t\t\t2\n",
    "new.csv": 'job,hours-per-week,age\nclerk,40,39\nbaker,," 20.5 "\n,2,30\n',
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_answered_as_the_server_does_it(server, served, tmp_path, command, name):
    (tmp_path / name).write_text(FILES[name])
    models = [served / "people", f"{server.rest}/people", f"grpc://{server.grpc}/people"]
    told = [command("predict", model, "--input", tmp_path / name) for model in models]
    assert [answer.status for answer in told] == [0, 0, 0], told
    lines = [[json.loads(line) for line in answer.output.splitlines()] for answer in told]
    rows = [ROW, {"age": 20.5, "hours-per-week": NAN, "job": "baker"}, {"age": 30, "hours-per-week": 2, "job": ""}]
    _, expected = post(server, {"instances": rows})
    for some in lines:
        assert [line["label"] for line in some] == [one["label"] for one in expected["predictions"]]
        for line, one in zip(some, expected["predictions"], strict=True):
            assert list(line["scores"].values()) == pytest.approx(one["scores"], abs=1e-6)
            assert line["probability"] == pytest.approx(one["probability"], abs=1e-6)
            assert line["outside_training_range"] == one["outside_training_range"]
            assert line["unknown_categories"] == one["unknown_categories"]
            assert line["age"].strip() in ("39", "20.5", "3e1", "30")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("39\t40\tclerk\n39\tmany\tclerk\n", "new.tsv:3: the column `hours-per-week` holds no finite number"),
        ("39\t40\tclerk\n39\t40\n", "new.tsv:3: the row does not fit the header: expected 3 cells, received 2"),
    ],
)
@pytest.mark.parametrize("place", ["folder", "rest", "grpc"])
def test_a_row_of_a_file_that_is_not_taken_is_listed_and_the_others_are_answered(
    server, served, tmp_path, command, place, lines, message
):
    model = {"folder": served / "people", "rest": f"{server.rest}/people", "grpc": f"grpc://{server.grpc}/people"}
    (tmp_path / "new.tsv").write_text(f"age\thours-per-week\tjob\n{lines}")
    answer = command("predict", model[place], "--input", tmp_path / "new.tsv")
    assert answer.status == 1
    said, total = answer.errors.splitlines()
    assert refused_as(said, message) and total == "error: standard output: 1 of 2 rows have no prediction"
    good, bad = map(json.loads, answer.output.splitlines())
    assert good["label"] in ("noise", "real") and said == f"error: {bad['error']}"


@pytest.mark.parametrize("place", ["folder", "rest", "grpc"])
def test_an_empty_cell_is_answered_and_flagged_where_no_training_row_lacked_a_value(
    server, served, tmp_path, command, place
):
    model = {"folder": served / "people", "rest": f"{server.rest}/people", "grpc": f"grpc://{server.grpc}/people"}
    (tmp_path / "new.csv").write_text("age,hours-per-week,job\n,,\n")
    answer = command("predict", model[place], "--input", tmp_path / "new.csv")
    assert answer.status == 0, answer.errors
    line = json.loads(answer.output)
    assert (line["outside_training_range"], line["unknown_categories"]) == ("age", "")
