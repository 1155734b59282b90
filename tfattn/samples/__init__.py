"""Generators of small data sets, so that every pipeline can be tried without a download."""
