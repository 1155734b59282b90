"""The mathematics of attention as pure functions of keras.ops: tensors in, tensors out, no weights."""
