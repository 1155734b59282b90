"""TensorFlow's graphs as data: what a SavedModel would do, known without running it."""
