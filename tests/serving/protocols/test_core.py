"""Checks of requests against a signature, with TF Serving's codes and messages."""

import asyncio
import re

import numpy as np
import pytest
import tensorflow as tf
from grpc import StatusCode
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import ModelVersionStatus

from tests.serving.stand_ins import FLOATS, TEXTS, Models, Version, example, half_plus_two, signature, sums
from tfattn.serving.api.failure import Failure
from tfattn.serving.models.version import VersionState
from tfattn.serving.protocols import core

X = np.float32([1, 2, 5])


def predict(version, inputs, *, signature="", outputs=()):
    return asyncio.run(core.predict(version, signature, inputs, outputs=outputs, deadline=None))


def refused(call, *arguments, **options) -> tuple[StatusCode, str]:
    with pytest.raises(Failure) as caught:
        call(*arguments, **options)
    return caught.value.code, caught.value.message


def test_the_default_signature_is_filled_in():
    name, outputs = predict(half_plus_two(), {"x": X})
    assert name == "serving_default" and outputs["y"].tolist() == [2.5, 3.0, 4.5]
    assert predict(half_plus_two(), {"x": X}, signature="serving_default")[0] == "serving_default"


def test_any_signature_may_be_predicted():
    texts = np.array([example(x=20.0).SerializeToString()], object)
    _, outputs = predict(half_plus_two(), {"inputs": texts}, signature="classify")
    assert outputs["scores"].tolist() == [[12.0, 13.0]]


def test_row_66_an_unknown_signature_is_a_failed_precondition():
    code, message = refused(predict, half_plus_two(), {"x": X}, signature="s")
    assert code == StatusCode.FAILED_PRECONDITION and message == 'Serving signature key "s" not found.'
    bare = Version("m", 1, [])
    assert refused(predict, bare, {"x": X})[1] == 'Serving signature key "serving_default" not found.'


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("ab", "input size does not match signature: 2!=1 len({a,b}) != len({x}). Sent extra: {a,b}. Missing but "),
        ("", "0!=1 len({}) != len({x}). Sent extra: {}. Missing but required: {x}."),
        ("y", "input tensor alias not found in signature: y. Inputs expected to be in the set {x}."),
    ],
)
def test_rows_67_and_68_inputs_are_those_of_the_signature(inputs, message):
    code, said = refused(predict, half_plus_two(), dict.fromkeys(inputs, X))
    assert code == StatusCode.INVALID_ARGUMENT and message in said


def test_an_input_with_a_default_need_not_be_given():
    _, outputs = predict(sums(), {"a": X}, signature="default")
    assert outputs["c"].tolist() == [11.0, 12.0, 15.0]
    code, message = refused(predict, sums(), {"b": X}, signature="default")
    assert code == StatusCode.INVALID_ARGUMENT
    assert message.startswith("Signature input alias: a(feed name: default_a:0) not found in request and no default")
    assert "!=" in refused(predict, sums(), {"a": X})[1]
    assert "alias not found in signature: z" in refused(predict, sums(), {"z": X}, signature="default")[1]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([b"x"], object), "Expects arg[0] to be float but string is provided"),
        (np.float64([1]), "Expects arg[0] to be float but double is provided"),
        (np.float16([1]), "Expects arg[0] to be float but half is provided"),
        (np.int64([1]), "Expects arg[0] to be float but int64 is provided"),
        (np.array([True]), "Expects arg[0] to be float but bool is provided"),
    ],
)
def test_row_69_types_are_those_of_the_signature(array, message):
    assert refused(predict, half_plus_two(), {"x": array}) == (StatusCode.INVALID_ARGUMENT, message)


def test_every_type_of_tensorflow_is_compared_with_its_own():
    for dtype in (tf.string, tf.bool, tf.half, tf.bfloat16, tf.float64, tf.uint8, tf.int8, tf.int64, tf.complex64):
        kept = Version("m", 1, [(signature("serving_default", {"x": (dtype, [None])}, {}), lambda x: {"x": x})])
        _, outputs = predict(kept, {"x": np.zeros(1, dtype.as_numpy_dtype)})
        assert outputs["x"].dtype == dtype.as_numpy_dtype


def test_row_71_outputs_are_chosen_by_name():
    inputs = {"a": X, "b": X}
    assert list(predict(sums(), inputs, outputs=["d"])[1]) == ["d"]
    assert list(predict(sums(), inputs)[1]) == ["c", "d"]
    code, message = refused(predict, half_plus_two(), {"x": X}, outputs=["z"])
    assert code == StatusCode.INVALID_ARGUMENT
    assert message == "output tensor alias not found in signature: z Outputs expected to be in the set {y}."
    assert refused(predict, sums(), inputs, outputs=["d", "c", "d"])[1] == "duplicate output tensor alias: d"


EXAMPLES = [example(x=20.0).SerializeToString(), example(x=2.0).SerializeToString()]


def classify(name, examples=EXAMPLES, version=None):
    return asyncio.run(core.classify(version or half_plus_two(), name, examples, deadline=None))


def regress(name, examples=EXAMPLES, version=None):
    return asyncio.run(core.regress(version or half_plus_two(), name, examples, deadline=None))


def test_rows_51_and_52_examples_are_classified_and_regressed():
    assert classify("classify") == [[("two", 12.0), ("thrée", 13.0)], [("two", 3.0), ("thrée", 4.0)]]
    assert regress("regress") == [12.0, 3.0]
    assert regress("regress_column") == [13.0, 4.0]


def test_classes_or_scores_may_be_absent():
    assert classify("scores") == [[("", 12.0), ("", 13.0)], [("", 3.0), ("", 4.0)]]
    assert classify("classes", EXAMPLES[:1]) == [[("two", 0.0), ("thrée", 0.0)]]


@pytest.mark.parametrize(
    ("call", "name", "message"),
    [
        (classify, "s", "No signature was found with the name: s"),
        (classify, "", "No classification inputs found in SignatureDef: serving_default"),
        (regress, "s", "No signature was found with the name: s"),
        (regress, "", "No regression inputs found in SignatureDef: serving_default"),
        (classify, "regress", 'to contain at least one of "classes" or "scores"'),
        (regress, "classify", "Expected one output Tensor."),
        (regress, "scores", "No regression outputs found in SignatureDef: scores"),
    ],
)
def test_row_54_a_signature_of_another_method_is_refused(call, name, message):
    code, said = refused(call, name)
    assert code == StatusCode.INVALID_ARGUMENT and message in said


def test_a_signature_with_other_inputs_than_examples_is_refused():
    assert refused(classify, "", version=sums())[1] == "Expected one input Tensor."
    many = signature("many", {"inputs": TEXTS}, dict.fromkeys(("classes", "scores", "more"), FLOATS))
    assert "found 3" in refused(classify, "many", version=Version("m", 1, [(many, None)]))[1]
    numbers = signature("numbers", {"inputs": FLOATS}, {"scores": FLOATS})
    said = refused(classify, "numbers", version=Version("m", 1, [(numbers, None)]))[1]
    assert said == "Expects arg[0] to be float but string is provided"


def test_row_79_no_examples_are_refused():
    assert refused(classify, "classify", []) == (StatusCode.INVALID_ARGUMENT, "Input is empty.")
    assert refused(regress, "regress", []) == (StatusCode.INVALID_ARGUMENT, "Input is empty.")


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"scores": np.float32([1, 2])}, "Expected Tensor shape: [batch_size num_classes] but got [2]"),
        ({"scores": np.float64([[1], [2]])}, "Expected scores Tensor of DT_FLOAT. Got: DT_DOUBLE"),
        ({"scores": np.float32([[1]])}, "Expected scores output batch size of 2. Got: 1"),
        ({"classes": np.float32([[1], [2]])}, "Expected classes Tensor of DT_STRING. Got: DT_FLOAT"),
        (
            {"classes": np.array([[b"a"], [b"b"]], object), "scores": np.float32([[1, 2], [1, 2]])},
            "Tensors class and score should match in dim_size(1). Got 1 vs. 2",
        ),
        ({"outputs": np.float32([[1, 2], [3, 4]])}, "to be either [batch_size] or [batch_size, 1] but got [2,2]"),
        ({"outputs": np.float32(1)}, "to be either [batch_size] or [batch_size, 1] but got []"),
        ({"outputs": np.float32([1])}, "Input batch size did not match output batch size: 2 vs. 1"),
        ({"outputs": np.int32([1, 2])}, "Expected output Tensor of DT_FLOAT.  Got: DT_INT32"),
    ],
)
def test_outputs_of_a_model_are_validated(outputs, message):
    one = signature("one", {"inputs": TEXTS}, dict.fromkeys(outputs, FLOATS))
    version = Version("m", 1, [(one, lambda inputs: outputs)])
    code, said = refused(regress if "outputs" in outputs else classify, "one", version=version)
    assert code == StatusCode.INVALID_ARGUMENT and re.search(re.escape(message), said)


def test_row_76_metadata_are_all_signatures():
    response = core.metadata(half_plus_two(3))
    assert response.model_spec.name == "half_plus_two" and response.model_spec.version.value == 3
    assert response.model_spec.signature_name == ""
    signatures = SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert signatures.signature_def["serving_default"].inputs["x"].dtype == tf.float32.as_datatype_enum
    assert set(signatures.signature_def) == set(half_plus_two().signatures)


def test_rows_55_56_and_77_states_of_versions():
    failed = half_plus_two(2, state=VersionState.END, error=Failure(StatusCode.DATA_LOSS, "broken"))
    models = Models(half_plus_two(1), failed)
    newest, oldest = core.model_status(models, "half_plus_two").model_version_status
    assert (newest.version, newest.state, newest.status.error_code) == (2, 50, 15)
    assert newest.status.error_message == "broken"
    assert (oldest.version, oldest.state, oldest.status.error_code) == (1, 30, 0)
    (one,) = core.model_status(models, "half_plus_two", 1).model_version_status
    assert one == oldest
    assert refused(core.model_status, models, "half_plus_two", 99) == (
        StatusCode.NOT_FOUND,
        "Could not find version 99 of model half_plus_two",
    )
    assert refused(core.model_status, models, "foo")[1] == "Could not find any versions of model foo"


def test_every_state_is_one_of_the_message():
    for state in VersionState:
        response = core.model_status(Models(half_plus_two(1, state=state)), "half_plus_two")
        assert ModelVersionStatus.State.Name(response.model_version_status[0].state) == state.name


def test_the_deadline_and_the_wanted_outputs_are_passed_on():
    version = half_plus_two()
    asyncio.run(core.classify(version, "classify", EXAMPLES, deadline=5.0))
    ((name, inputs, outputs, deadline),) = version.calls
    assert (name, outputs, deadline) == ("classify", ("classes", "scores"), 5.0)
    assert inputs["inputs"].dtype == object and inputs["inputs"].tolist() == EXAMPLES
