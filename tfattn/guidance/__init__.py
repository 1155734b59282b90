"""Guided writing: which tokens may come next, so that a text is one of some, fits a pattern, or is JSON of a schema."""
