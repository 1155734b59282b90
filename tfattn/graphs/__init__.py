"""Analysis of TensorFlow's graphs: the operations of a SavedModel, without running it."""
