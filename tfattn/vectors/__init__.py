"""Vectors of texts, as an encoder makes them without a task, and of words; and the files that hold them."""
