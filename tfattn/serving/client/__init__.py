"""Predictions for Python callers or a file of rows, by a model in this process or on a server."""
