"""PredictionService over a real connection: responses and failures."""

import grpc
import numpy as np
import pytest
import tensorflow as tf
from grpc import StatusCode
from tensorflow_serving.apis.classification_pb2 import ClassificationRequest
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest, SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
from tensorflow_serving.apis.inference_pb2 import MultiInferenceRequest
from tensorflow_serving.apis.input_pb2 import Input
from tensorflow_serving.apis.model_management_pb2 import ReloadConfigRequest
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub
from tensorflow_serving.apis.regression_pb2 import RegressionRequest

from tests.serving.stand_ins import Models, example, half_plus_two
from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import CLASSIFY, REGRESS
from tfattn.serving.models.version import VersionState


def request(model="half_plus_two", *, kind=PredictRequest, signature="", version=None, label=None, inputs=None):
    message = kind()
    if model is not None:
        message.model_spec.name, message.model_spec.signature_name = model, signature
    if version is not None:
        message.model_spec.version.value = version
    if label is not None:
        message.model_spec.version_label = label
    for name, value in (inputs or {}).items():
        message.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return message


X = {"x": np.float32([1, 2])}


def values(response, name="y"):
    return tf.make_ndarray(response.outputs[name]).tolist()


def test_row_62_the_response_names_its_version(server):
    response = server.prediction.Predict(request(inputs=X))
    assert values(response) == [2.5, 3.0] and list(response.outputs["y"].float_val) == [2.5, 3.0]
    spec = response.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("half_plus_two", 2, "serving_default")
    assert server.metrics.requests == [("half_plus_two", 2, "predict", "GRPC", StatusCode.OK)]


def test_a_version_is_chosen_by_number_or_label(server):
    assert server.prediction.Predict(request(inputs=X, version=1)).model_spec.version.value == 1
    response = server.prediction.Predict(request(inputs=X, label="stable"))
    assert response.model_spec.version.value == 1 and response.model_spec.version_label == ""


def test_row_63_a_request_names_its_model(server, refused):
    assert refused(server.prediction.Predict, request(None)) == (StatusCode.INVALID_ARGUMENT, "Missing ModelSpec")
    said = (StatusCode.INVALID_ARGUMENT, "ModelSpec has no name specified.")
    assert refused(server.prediction.Predict, request("")) == said
    assert refused(server.prediction.Classify, request("", kind=ClassificationRequest)) == said


def test_row_64_unknown_models_and_versions_are_not_found(server, refused):
    code, message = refused(server.prediction.Predict, request("foo", inputs=X))
    assert code == StatusCode.NOT_FOUND and message == "Servable not found for request: Latest(foo)"
    code, message = refused(server.prediction.Predict, request(inputs=X, version=99))
    assert code == StatusCode.NOT_FOUND and "Specific(half_plus_two, 99)" in message
    # Who sends names must not be able to add series to the metrics.
    assert [named[:2] for named in server.metrics.requests] == [("", None), ("half_plus_two", None)]


def test_row_65_an_unknown_label_is_invalid(server, refused):
    code, message = refused(server.prediction.Predict, request(inputs=X, label="x"))
    assert code == StatusCode.INVALID_ARGUMENT and message == "Unrecognized servable version label: x"


def test_row_66_an_unknown_signature(server, refused):
    code, message = refused(server.prediction.Predict, request(inputs=X, signature="s"))
    assert code == StatusCode.FAILED_PRECONDITION and message == 'Serving signature key "s" not found.'


def test_rows_67_to_69_inputs_that_do_not_fit(server, refused):
    predict = server.prediction.Predict
    code, message = refused(predict, request(inputs={"a": [1.0], "b": [1.0]}))
    assert code == StatusCode.INVALID_ARGUMENT
    assert "input size does not match signature: 2!=1 len({a,b}) != len({x}). Sent extra: {a,b}. Missing" in message
    assert refused(predict, request(inputs={"y": [1.0]}))[0] == StatusCode.INVALID_ARGUMENT
    code, message = refused(predict, request(inputs={"x": ["text"]}))
    assert code == StatusCode.INVALID_ARGUMENT and message == "Expects arg[0] to be float but string is provided"


def test_row_70_every_encoding_of_a_tensor_is_read_and_a_broken_one_refused(server, refused):
    splatted = request()
    splatted.inputs["x"].dtype = tf.float32.as_datatype_enum
    splatted.inputs["x"].tensor_shape.dim.add(size=3)
    splatted.inputs["x"].float_val.append(4.0)
    assert values(server.prediction.Predict(splatted)) == [4.0, 4.0, 4.0]
    content = request()
    content.inputs["x"].CopyFrom(splatted.inputs["x"])
    content.inputs["x"].ClearField("float_val")
    content.inputs["x"].tensor_content = np.float32([1, 2, 3]).tobytes()
    assert values(server.prediction.Predict(content)) == [2.5, 3.0, 3.5]
    content.inputs["x"].tensor_content = b"\0\0\0"
    code, message = refused(server.prediction.Predict, content)
    assert code == StatusCode.INVALID_ARGUMENT and "tensor parsing error: x" in message


def test_row_71_outputs_are_filtered(server, refused):
    both = {"a": np.float32([1]), "b": np.float32([2])}
    assert set(server.prediction.Predict(request("sums", inputs=both)).outputs) == {"c", "d"}
    chosen = request("sums", inputs=both)
    chosen.output_filter.append("d")
    assert values(server.prediction.Predict(chosen), "d") == [-1.0]
    assert set(server.prediction.Predict(chosen).outputs) == {"d"}
    chosen.output_filter.append("d")
    assert refused(server.prediction.Predict, chosen)[1] == "duplicate output tensor alias: d"
    chosen.output_filter[1] = "z"
    code, message = refused(server.prediction.Predict, chosen)
    assert code == StatusCode.INVALID_ARGUMENT
    assert message == "output tensor alias not found in signature: z Outputs expected to be in the set {c,d}."


def examples(kind=ClassificationRequest, *, signature="classify", context=None, numbers=(20.0, 2.0)):
    message = request(kind=kind, signature=signature)
    message.input.CopyFrom(given(context, numbers))
    return message


def given(context=None, numbers=(20.0, 2.0)):
    message = Input()
    if context is None:
        message.example_list.examples.extend(example(x=number) for number in numbers)
    else:
        message.example_list_with_context.examples.extend(example() for _ in numbers)
        message.example_list_with_context.context.CopyFrom(context)
    return message


def test_row_79_examples_are_classified(server):
    response = server.prediction.Classify(examples())
    assert response.model_spec.signature_name == "classify" and response.model_spec.version.value == 2
    first, second = response.result.classifications
    assert [(one.label, one.score) for one in first.classes] == [("two", 12.0), ("thrée", 13.0)]
    assert [one.score for one in second.classes] == [3.0, 4.0]
    assert server.metrics.requests[-1][2] == "classify"


def test_row_79_examples_are_regressed(server):
    response = server.prediction.Regress(examples(RegressionRequest, signature="regress"))
    assert [one.value for one in response.result.regressions] == [12.0, 3.0]
    assert response.model_spec.signature_name == "regress"


def test_row_79_a_context_is_part_of_every_example(server):
    response = server.prediction.Regress(examples(RegressionRequest, signature="regress", context=example(x=4.0)))
    assert [one.value for one in response.result.regressions] == [4.0, 4.0]


def test_row_79_empty_input_is_refused(server, refused):
    said = (StatusCode.INVALID_ARGUMENT, "Input is empty.")
    assert refused(server.prediction.Classify, examples(numbers=())) == said
    assert refused(server.prediction.Regress, examples(RegressionRequest, signature="regress", numbers=())) == said
    nothing = request(kind=RegressionRequest, signature="regress")
    assert refused(server.prediction.Regress, nothing) == said


def test_row_54_a_signature_that_does_not_classify(server, refused):
    code, message = refused(server.prediction.Classify, examples(signature="s"))
    assert code == StatusCode.INVALID_ARGUMENT and message == "No signature was found with the name: s"
    code, message = refused(server.prediction.Classify, examples(signature=""))
    assert code == StatusCode.INVALID_ARGUMENT and "No classification inputs found" in message


def tasks(*signatures, model="half_plus_two"):
    message = MultiInferenceRequest(input=given())
    for name, method in signatures:
        task = message.tasks.add(method_name=method)
        task.model_spec.name, task.model_spec.signature_name = model, name
    return message


def test_row_79_several_signatures_answer_the_same_examples(server):
    response = server.prediction.MultiInference(tasks(("regress", REGRESS), ("scores", CLASSIFY)))
    first, second = response.results
    assert [one.value for one in first.regression_result.regressions] == [12.0, 3.0]
    assert second.classification_result.classifications[1].classes[1].score == 4.0
    assert (first.model_spec.signature_name, second.model_spec.signature_name) == ("regress", "scores")
    assert second.model_spec.version.value == 2


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (lambda sent: sent.ClearField("tasks"), "INVALID_ARGUMENT", "ModelSpec has no name specified."),
        (lambda sent: sent.tasks[1].model_spec.ClearField("name"), "INVALID_ARGUMENT", "an empty model name."),
        (lambda sent: setattr(sent.tasks[1].model_spec, "name", "b"), "INVALID_ARGUMENT", "access the same model"),
        (lambda sent: sent.tasks[1].CopyFrom(sent.tasks[0]), "INVALID_ARGUMENT", "Duplicate evaluation of signature"),
        (
            lambda sent: setattr(sent.tasks[1].model_spec, "signature_name", "s"),
            "INVALID_ARGUMENT",
            "Requested signature not found in model graph: s",
        ),
        (lambda sent: setattr(sent.tasks[1], "method_name", "m"), "UNIMPLEMENTED", "Unsupported signature method_name"),
        (lambda sent: sent.ClearField("input"), "INVALID_ARGUMENT", "Input is empty."),
    ],
)
def test_row_79_inconsistent_tasks(server, refused, change, code, message):
    sent = tasks(("regress", REGRESS), ("scores", CLASSIFY))
    change(sent)
    received, said = refused(server.prediction.MultiInference, sent)
    assert received.name == code and message in said


def test_row_76_metadata(server, refused):
    ask = server.prediction.GetModelMetadata
    asked = request(kind=GetModelMetadataRequest, version=1)
    code, message = refused(ask, asked)
    assert code == StatusCode.INVALID_ARGUMENT and "must specify at least one metadata_field" in message
    asked.metadata_field.append("signature_def")
    response = ask(asked)
    assert response.model_spec.name == "half_plus_two" and response.model_spec.version.value == 1
    known = SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(known)
    assert known.signature_def["serving_default"].outputs["y"].dtype == tf.float32.as_datatype_enum
    asked.metadata_field.append("foo")
    assert refused(ask, asked) == (StatusCode.INVALID_ARGUMENT, "Metadata field foo is not supported")
    nothing = GetModelMetadataRequest(metadata_field=["signature_def"])
    assert refused(ask, nothing) == (StatusCode.INVALID_ARGUMENT, "Missing ModelSpec")
    unknown = request("foo", kind=GetModelMetadataRequest)
    unknown.metadata_field.append("signature_def")
    assert refused(ask, unknown)[0] == StatusCode.NOT_FOUND
    assert not server.metrics.requests, "as in TF Serving, only what a model computes is counted"


def test_the_number_of_rows_is_limited(start, refused):
    with start(Models(half_plus_two(1)), max_rows=3) as server:
        assert len(values(server.prediction.Predict(request(inputs={"x": np.ones(3, np.float32)})))) == 3
        said = (StatusCode.INVALID_ARGUMENT, "4 rows exceed the server's limit of 3 rows per request")
        assert refused(server.prediction.Predict, request(inputs={"x": np.ones(4, np.float32)})) == said
        assert refused(server.prediction.Classify, examples(numbers=range(4))) == said
        assert len(server.prediction.Classify(examples(numbers=range(3))).result.classifications) == 3


def test_row_75_large_messages_are_accepted_up_to_the_limit(start):
    with start(Models(half_plus_two(1)), max_body_mib=6, max_rows=2**22) as server:
        options = [("grpc.max_receive_message_length", -1)]
        with grpc.insecure_channel(server.host, options=options) as channel:
            predict = PredictionServiceStub(channel).Predict
            large = np.ones(2**20 + 2**18, np.float32)
            assert np.all(tf.make_ndarray(predict(request(inputs={"x": large})).outputs["y"]) == 2.5)
            with pytest.raises(grpc.RpcError) as caught:
                predict(request(inputs={"x": np.ones(2**21, np.float32)}))
            assert caught.value.code() == StatusCode.RESOURCE_EXHAUSTED


def asked(name="half_plus_two", *, version=None, label=None):
    request = GetModelStatusRequest()
    request.model_spec.name = name
    if version is not None:
        request.model_spec.version.value = version
    if label is not None:
        request.model_spec.version_label = label
    return request


def test_row_77_states_of_versions(server, refused):
    status = server.model.GetModelStatus
    both = status(asked()).model_version_status
    assert [(one.version, one.state, one.status.error_code) for one in both] == [(2, 30, 0), (1, 30, 0)]
    assert [one.version for one in status(asked(version=1)).model_version_status] == [1]
    code, message = refused(status, GetModelStatusRequest())
    assert (code, message) == (StatusCode.INVALID_ARGUMENT, "Missing ModelSpec")
    code, message = refused(status, asked(version=99))
    assert code == StatusCode.NOT_FOUND and message == "Could not find version 99 of model half_plus_two"
    code, message = refused(status, asked("foo"))
    assert code == StatusCode.NOT_FOUND and message == "Could not find any versions of model foo"


def test_row_57_a_label_is_ignored(server):
    assert len(server.model.GetModelStatus(asked(label="unknown")).model_version_status) == 2


def test_a_failed_version_has_its_error(start):
    failed = half_plus_two(3, state=VersionState.END, error=Failure(StatusCode.DATA_LOSS, "saved_model.pb is cut"))
    with start(Models(failed)) as server:
        (one,) = server.model.GetModelStatus(asked()).model_version_status
        assert (one.state, one.status.error_code, one.status.error_message) == (50, 15, "saved_model.pb is cut")


def test_row_78_reload_of_models(server, refused):
    request = ReloadConfigRequest()
    request.config.model_config_list.config.add(name="m", base_path="/models/m", model_platform="tensorflow")
    response = server.model.HandleReloadConfigRequest(request)
    assert response.HasField("status") and response.status.error_code == 0
    assert server.models.reloaded == [request.config]
    request.config.model_config_list.config[0].base_path = ""
    code, message = refused(server.model.HandleReloadConfigRequest, request)
    assert (code, message) == (StatusCode.INVALID_ARGUMENT, "a model has no base_path")


def test_row_78_only_lists_of_models_are_accepted(server, refused):
    request = ReloadConfigRequest()
    code, message = refused(server.model.HandleReloadConfigRequest, request)
    assert code == StatusCode.INVALID_ARGUMENT and "Only ModelConfigList is currently supported" in message
    request.config.custom_model_config.value = b"x"
    assert refused(server.model.HandleReloadConfigRequest, request)[0] == StatusCode.INVALID_ARGUMENT
