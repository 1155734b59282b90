"""Analysis of TensorFlow's graphs: what a SavedModel would do, without running it."""
