"""Guided output: which tokens may come next, so that a text is a choice, fits a pattern, or is JSON of a schema."""
