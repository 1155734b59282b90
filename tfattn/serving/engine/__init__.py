"""One version of a model computes: a SavedModel, the process that runs it, and the batches that it is given."""
