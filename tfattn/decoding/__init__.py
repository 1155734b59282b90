"""Decoding of texts from a step function: greedy search, beam search and sampling, in loops that a graph can hold."""
