"""Preparation: validate, split, tokenize and write the examples of a data set."""
