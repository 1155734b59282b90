"""Profiles of raw data: columns, targets, duplicates, leaks and drift, before training and without TensorFlow."""
