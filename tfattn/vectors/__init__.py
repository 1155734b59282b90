"""Vectors of texts, from an encoder without a task, and of words, with their files."""
