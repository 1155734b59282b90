"""Generators of small data sets, to try pipelines without a download."""
