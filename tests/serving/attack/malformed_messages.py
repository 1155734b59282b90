"""gRPC calls as nobody should make them: a method, and bytes that may or may not be its message."""

import random
from collections.abc import Iterator, Sequence

from google.protobuf.message import Message
from tensorflow.core.example.example_pb2 import Example
from tensorflow.core.framework import types_pb2
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis.classification_pb2 import ClassificationRequest
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
from tensorflow_serving.apis.inference_pb2 import MultiInferenceRequest
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from tests.serving.attack.mutation import mutated
from tfattn.serving.api.tensors import strings, to_proto

PREDICTION, MODEL = "/tensorflow.serving.PredictionService", "/tensorflow.serving.ModelService"
DTYPES = sorted(types_pb2.DataType.values())
SIZES = (-(2**63), -1, 0, 1, 2, 3, 1000, 2**20, 2**26, 2**31, 2**62)

Call = tuple[str, bytes]


def calls(model: str, texts: Sequence[str], source: random.Random) -> Iterator[Call]:
    """An endless row of calls, the same for the same seed."""
    messages = Messages(model, texts, source)
    while True:
        method, message = source.choice((messages.predict,) * 6 + (messages.classify, messages.other))()
        data = message.SerializeToString()
        kind = source.random()
        if kind < 0.5:
            data = mutated(data, source)
        elif kind < 0.6:
            data = source.randbytes(source.randint(0, 500))
        yield method, data


class Messages:
    """Messages with parts that do not fit."""

    def __init__(self, model: str, texts: Sequence[str], source: random.Random):
        self._model, self._texts, self._source = model, texts, source

    def predict(self) -> tuple[str, PredictRequest]:
        """A prediction with a tensor of any kind."""
        request = PredictRequest()
        self._spec(request.model_spec)
        for name in self._source.choice((["text"],) * 6 + ([], ["x"], ["text", "x"], [""])):
            request.inputs[name].CopyFrom(self._tensor())
        if self._source.random() < 0.2:
            request.output_filter.extend(self._source.choices(("label", "scores", "none", ""), k=2))
        return f"{PREDICTION}/Predict", request

    def classify(self) -> tuple[str, ClassificationRequest]:
        """A classification of examples, some of which are none."""
        request = ClassificationRequest()
        self._spec(request.model_spec)
        request.model_spec.signature_name = "classify"
        for _ in range(self._source.randint(0, 3)):
            self._fill(request.input.example_list.examples.add())
        return f"{PREDICTION}/Classify", request

    def other(self) -> tuple[str, Message]:
        """A call of another method, which may not exist."""
        spec = {"name": self._source.choice((self._model, "", "none"))}
        return self._source.choice(
            (
                (f"{PREDICTION}/GetModelMetadata", GetModelMetadataRequest(model_spec=spec, metadata_field=["x"])),
                (f"{PREDICTION}/MultiInference", MultiInferenceRequest()),
                (f"{PREDICTION}/Regress", ClassificationRequest(model_spec=spec)),
                (f"{PREDICTION}/None", PredictRequest()),
                (f"{MODEL}/GetModelStatus", GetModelStatusRequest(model_spec=spec)),
                ("/grpc.health.v1.Health/Check", GetModelStatusRequest(model_spec=spec)),
                ("/none/None", PredictRequest()),
            )
        )

    def _fill(self, example: Example) -> None:
        feature = example.features.feature[self._source.choice(("text", "x", ""))]
        self._source.choice(
            (
                lambda: feature.bytes_list.value.append(self._text()),
                lambda: feature.bytes_list.value.extend([self._text()] * 3),
                lambda: feature.float_list.value.append(1.5),
                lambda: feature.int64_list.value.append(-1),
                lambda: None,
            )
        )()

    def _spec(self, spec: ModelSpec) -> None:
        spec.name = self._source.choice((self._model,) * 8 + ("", "none", "../" + self._model))
        choice = self._source.random()
        if choice < 0.1:
            spec.version.value = self._source.choice(SIZES)
        elif choice < 0.2:
            spec.version_label = self._source.choice(("", "none", "x" * 5000))
        if self._source.random() < 0.2:
            spec.signature_name = self._source.choice(("serving_default", "none", "tokens", "classify", "x" * 5000))

    def _tensor(self) -> TensorProto:
        if self._source.random() < 0.3:
            return to_proto(strings([self._text() for _ in range(self._source.randint(0, 3))]))
        tensor = TensorProto(dtype=self._source.choice([types_pb2.DT_STRING] * 10 + DTYPES))
        for _ in range(self._source.choice((1, 1, 1, 0, 2, 3, 300))):
            tensor.tensor_shape.dim.add(size=self._source.choice(SIZES))
        tensor.tensor_shape.unknown_rank = self._source.random() < 0.05
        tensor.string_val.extend(self._text() for _ in range(self._source.randint(0, 3)))
        self._source.choice(
            (
                lambda: None,
                lambda: tensor.float_val.append(1.5),
                lambda: tensor.int64_val.append(2**62),
                lambda: setattr(tensor, "tensor_content", self._source.randbytes(self._source.randint(0, 64))),
                lambda: tensor.variant_val.add(type_name="x"),
                lambda: tensor.resource_handle_val.add(name="x"),
            )
        )()
        return tensor

    def _text(self) -> bytes:
        text = self._source.choice(self._texts).encode()
        return self._source.choice((text, text, b"", b"\xff\xfe\x00", b"x" * 20_000))
