"""Conversion of TensorFlow functions to a LiteRT file with float32 weights."""

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfattn import native
from tfattn.errors import ExportError
from tfattn.litert.new_axes import rewrite_new_axes

MAX_BYTES = 2**31 - 1  # the offsets of a flatbuffer are signed 32-bit numbers
UNSUPPORTED = re.compile(r"(?:TF Select|Custom) ops: (.+)")


def convert(functions: Mapping[str, Callable[..., Any]], *, weights: Sequence[Any] = ()) -> bytes:
    """Convert functions to the content of a LiteRT file.

    Signatures share the weights that they have in common. The dimensions of inputs may be unknown: the size of an input
    is then that of each call.

    Args:
        functions: signature name to a tf.function with its input signature, or a concrete function; both return a
            dictionary of tensors.
        weights: the variables that the functions read.

    Returns:
        the content of the file, with float32 weights; see `quantize` for smaller weights.

    Raises:
        ExportError: LiteRT has no such operation, or the file would be larger than 2 GiB.

    Example:
        >>> double = tf.function(lambda x: {"y": 2 * x}, input_signature=[tf.TensorSpec([None], name="x")])
        >>> convert({"double": double})[4:8]
        b'TFL3'
    """
    size = sum(weight.shape.num_elements() * weight.dtype.size for weight in weights)
    if size > MAX_BYTES:
        raise ExportError(
            "the weights are too large for a LiteRT file", expected="up to 2 GiB", received=f"{size / 2**30:.1f} GiB"
        )
    module = tf.Module()
    module.weights = list(weights)
    with tempfile.TemporaryDirectory() as folder:
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(module, folder, signatures=dict(functions), options=options)
        path = Path(folder) / "saved_model.pb"
        saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
        rewrite_new_axes(saved)
        path.write_bytes(saved.SerializeToString())
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(functions))
        try:
            with native.errors_hidden():  # every unsupported operation is printed with all its callers
                return converter.convert()
        except Exception as error:  # of a class in TensorFlow's private modules
            raise ExportError(
                "LiteRT cannot compute the model",
                expected="operations of LiteRT",
                received=_unsupported(str(error)),
                remedy="Write the layer with other operations, or export without `litert` in `export.formats`.",
            ) from None


def _unsupported(message: str) -> str:
    """Return the names of the operations that LiteRT does not have, or the first line of the message."""
    names = sorted({name for found in UNSUPPORTED.findall(message) for name in found.split(", ")})
    return ", ".join(names) or next(iter(message.splitlines()), "")
