"""Predict for rows with an export, using TensorFlow and tensorflow-text, without tfattn and Keras.

A script, not a module: `python -I parity_worker.py FOLDER REQUEST RESULT`. REQUEST is JSON, `{"batch_size": 32,
"rows": {"text": [...]}, "litert": null}`, where bytes are `{"b64": "..."}`, and `litert` is the path of a LiteRT file
or null; RESULT becomes JSON too, `{"tensorflow": its version, "unknown_operations": [...], "predictions": {name:
[...]}}`.
"""

import base64
import gc
import json
import sys
import types

gc.disable()  # garbage collection takes most of the time of loading, and finds nothing
sys.modules["tfattn"] = None  # importing it fails from here on, even if it is installed
for name in ("keras", "tensorflow_text.python.keras"):  # an empty module, so that TensorFlow does not load Keras
    sys.modules[name] = types.ModuleType(name)

import tensorflow as tf  # noqa: E402
import tensorflow_text  # noqa: E402, F401  registers its operations
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402
from tensorflow.python.framework import op_def_registry  # noqa: E402


def main(folder, request_path, result_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    unknown = unknown_operations(folder)
    predictions = (
        {} if unknown else predict(folder, **{name: request[name] for name in ("rows", "batch_size", "litert")})
    )
    result = {"tensorflow": tf.__version__, "unknown_operations": unknown, "predictions": predictions}
    with open(result_path, "w", encoding="utf-8") as file:
        json.dump(result, file)


def unknown_operations(folder):
    with open(f"{folder}/saved_model.pb", "rb") as file:
        graph = saved_model_pb2.SavedModel.FromString(file.read()).meta_graphs[0].graph_def
    functions = {function.signature.name for function in graph.library.function}
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    operations = {node.op for node in nodes} - functions
    return sorted(name for name in operations if op_def_registry.get(name) is None)


def predict(folder, rows, batch_size, litert):
    loaded = tf.saved_model.load(folder)  # must live as long as its signatures are called
    compute = with_litert(loaded.signatures, litert) if litert else loaded.signatures["serving_default"]
    num_rows = len(next(iter(rows.values())))
    predictions = {}
    for start in range(0, num_rows, batch_size):
        batch = {
            name: tf.constant(list(map(decode_input, values[start : start + batch_size])))
            for name, values in rows.items()
        }
        for name, value in compute(**batch).items():
            predictions.setdefault(name, []).extend(decode_output(value.numpy().tolist()))
    return predictions


def with_litert(signatures, path):
    from ai_edge_litert.interpreter import Interpreter

    network = Interpreter(model_path=path).get_signature_runner("serving_default")
    types = {name: tensor["dtype"] for name, tensor in network.get_input_details().items()}
    before, after = (signatures[f"litert_{half}_serving_default"] for half in ("before", "after"))
    names = list(after.structured_input_signature[1])

    def compute(**batch):
        found = before(**batch)
        given = network(**{name: found[name].numpy().astype(dtype) for name, dtype in types.items()})
        given |= {name: found[name] for name in names if name not in given}
        found = {**found, **after(**{name: tf.convert_to_tensor(given[name]) for name in names})}
        return {name.removeprefix("result_"): x for name, x in found.items() if name.startswith("result_")}

    return compute


def decode_input(value):
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value


def decode_output(value):
    if isinstance(value, list):
        return [decode_output(item) for item in value]
    return value.decode("utf-8") if isinstance(value, bytes) else value


if __name__ == "__main__":
    main(*sys.argv[1:])
