"""The computation of one version of a model: a SavedModel, the process that runs it, and its batches."""
