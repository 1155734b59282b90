"""Vectors of texts, as an encoder makes them without a task, and the files that hold them."""
