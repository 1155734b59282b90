"""Preprocessing of raw fields to features, in the graph: the same code before training and inside the export."""
