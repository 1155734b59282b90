"""Models and versions that compute with NumPy instead of a process, for tests of the protocols."""

import asyncio
import contextlib

import numpy as np
import tensorflow as tf
from grpc import StatusCode
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.signature import CLASSIFY, PREDICT, REGRESS, Signature
from tfattn.serving.models.version import VersionState


def signature(name, inputs, outputs, *, method=PREDICT, defaults=None) -> Signature:
    """Create a signature from names to (type, shape)."""
    message = SignatureDef(method_name=method)
    for side, tensors in ((message.inputs, inputs), (message.outputs, outputs)):
        for key, (dtype, shape) in tensors.items():
            side[key].name = f"{name}_{key}:0"
            side[key].dtype = dtype.as_datatype_enum
            side[key].tensor_shape.CopyFrom(tf.TensorShape(shape).as_proto())
    for key, value in (defaults or {}).items():
        message.defaults[key].CopyFrom(tf.make_tensor_proto(value))
    return Signature.of(name, message)


class Version:
    """A version whose signatures are functions of arrays.

    Attributes:
        calls: the arguments of `run`: signature, inputs, outputs, deadline.
        in_use: the number of current users.
        gate: an event that `run` waits for.
        cancelled: the number of cancelled runs.
        error_to_raise: an exception that `run` raises.
        pieces: the pieces that `write` yields, waiting for the gate after the first, or exceptions that it raises; None
            for a model that does not generate text.
        requests: the requests to `write`.
    """

    def __init__(self, model, number, functions, *, state=VersionState.AVAILABLE, error=None):
        self.model, self.number, self.state, self.error = model, number, state, error
        self.signatures = {signature.name: signature for signature, _ in functions}
        self.functions = {signature.name: function for signature, function in functions}
        self.calls, self.in_use, self.cancelled, self.error_to_raise = [], 0, 0, None
        self.gate = asyncio.Event()
        self.gate.set()
        self.pieces, self.requests = None, []

    @property
    def writes_texts(self):
        return self.pieces is not None

    async def write(self, request):
        self.requests.append(request)
        with self.use():
            for number, piece in enumerate(self.pieces):
                if isinstance(piece, Exception):
                    raise piece
                try:
                    if number:
                        await self.gate.wait()
                except asyncio.CancelledError:
                    self.cancelled += 1
                    raise
                yield piece

    async def run(self, signature, inputs, outputs, deadline):
        self.calls.append((signature, inputs, outputs, deadline))
        if self.error_to_raise:
            raise self.error_to_raise
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        values = self.functions[signature](**inputs)
        return {name: values[name] for name in outputs or sorted(values)}

    @contextlib.contextmanager
    def use(self):
        self.in_use += 1
        try:
            yield
        finally:
            self.in_use -= 1


class Models:
    """Versions by model and number, with labels."""

    def __init__(self, *versions, labels=None):
        self.versions = {}
        for version in versions:
            self.versions.setdefault(version.model, {})[version.number] = version
        self.labels = labels or {}
        self.names = list(self.versions)
        self.ready, self.draining, self.readiness = True, False, "0 of 1 models are available; loading"
        self.reloaded = []

    def find(self, name, version=None, label=None):
        if label is not None:
            if label not in self.labels.get(name, {}):
                raise invalid(f"Unrecognized servable version label: {label}")
            version = self.labels[name][label]
        known = {key: one for key, one in self.versions.get(name, {}).items() if one.state == VersionState.AVAILABLE}
        if not known or version not in (None, *known):
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise Failure(StatusCode.NOT_FOUND, f"Servable not found for request: {wanted}")
        return known[max(known) if version is None else version]

    def status(self, name, version=None):
        known = self.versions.get(name, {})
        if version is not None and version not in known:
            raise Failure(StatusCode.NOT_FOUND, f"Could not find version {version} of model {name}")
        if not known:
            raise Failure(StatusCode.NOT_FOUND, f"Could not find any versions of model {name}")
        return [known[version]] if version is not None else [known[key] for key in sorted(known, reverse=True)]

    async def reload(self, config):
        if any(not one.base_path for one in config.model_config_list.config):
            raise invalid("a model has no base_path")
        self.reloaded.append(config)


class Metrics:
    """A recorder of metrics of requests."""

    def __init__(self):
        self.requests, self.first_pieces, self.usages = [], [], []

    def first_piece(self, model, *, seconds):
        assert seconds >= 0
        self.first_pieces.append(model)

    def tokens(self, model, usage):
        self.usages.append((model, usage))

    def request(self, model, version, *, api, entrypoint, code, seconds):
        assert seconds >= 0
        self.requests.append((model, version, api, entrypoint, code))


FLOATS, TEXTS = (tf.float32, [None]), (tf.string, [None])


def half_plus_two(number=1, **options) -> Version:
    """x -> y = x / 2 + 2; the same of an example's feature x as regression, and as scores of no, one or two labels."""

    def values(inputs):
        examples = map(tf.train.Example.FromString, inputs)
        return np.array([example.features.feature["x"].float_list.value[-1] for example in examples], np.float32)

    def scores(inputs):
        return np.stack([values(inputs) / 2 + 2, values(inputs) / 2 + 3], axis=1)

    def classes(inputs):
        return np.array([[b"two", b"thr\xc3\xa9e"]] * len(inputs), object)

    examples = {"inputs": TEXTS}
    columns = {"classes": (tf.string, [None, 2]), "scores": (tf.float32, [None, 2])}
    scored, named = ({name: columns[name]} for name in ("scores", "classes"))
    functions = [
        (signature("serving_default", {"x": FLOATS}, {"y": FLOATS}), lambda x: {"y": x / 2 + 2}),
        (
            signature("classify", examples, columns, method=CLASSIFY),
            lambda inputs: {"scores": scores(inputs), "classes": classes(inputs)},
        ),
        (signature("scores", examples, scored, method=CLASSIFY), lambda inputs: {"scores": scores(inputs)}),
        (signature("classes", examples, named, method=CLASSIFY), lambda inputs: {"classes": classes(inputs)}),
        (
            signature("regress", examples, {"outputs": FLOATS}, method=REGRESS),
            lambda inputs: {"outputs": values(inputs) / 2 + 2},
        ),
        (
            signature("regress_column", examples, {"outputs": (tf.float32, [None, 1])}, method=REGRESS),
            lambda inputs: {"outputs": values(inputs)[:, None] / 2 + 3},
        ),
    ]
    return Version("half_plus_two", number, functions, **options)


def sums() -> Version:
    """a, b -> c = a + b, d = a - b; `default` does without b."""

    def compute(a, b):
        return {"c": a + b, "d": a - b}

    inputs, outputs = {"a": FLOATS, "b": FLOATS}, {"c": FLOATS, "d": FLOATS}
    return Version(
        "sums",
        7,
        [
            (signature("serving_default", inputs, outputs), compute),
            (signature("default", inputs, outputs, defaults={"b": np.float32([10])}), compute),
        ],
    )


def example(**features) -> tf.train.Example:
    """An example of numbers and texts."""
    message = tf.train.Example()
    for name, value in features.items():
        if isinstance(value, str):
            message.features.feature[name].bytes_list.value.append(value.encode())
        else:
            message.features.feature[name].float_list.value.append(value)
    return message
