"""The texts of a constant, in either of its two forms."""

import math
from collections.abc import Iterable

import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from tfattn.errors import SavedModelError


def strings_of(tensor: tensor_pb2.TensorProto) -> Iterable[bytes]:
    """Read the texts of a constant; none where it holds something else.

    Raises:
        SavedModelError: the texts are damaged.
    """
    if tensor.dtype != types_pb2.DT_STRING:
        return ()
    if not tensor.tensor_content:
        return tensor.string_val
    # Before anything is allocated by it: each text takes at least the byte of its length.
    size, most = math.prod(dim.size for dim in tensor.tensor_shape.dim), len(tensor.tensor_content)
    if not 0 <= size <= most:
        raise SavedModelError(f"a constant's texts cannot be read (shape of {size} texts in {most} bytes)")
    try:
        return tf.io.parse_tensor(tensor.SerializeToString(), tf.string).numpy().ravel().tolist()
    except tf.errors.InvalidArgumentError as error:
        raise SavedModelError(f"a constant's texts cannot be read ({error.message})") from None
