"""Layers with weights: each one idea, built on the functions of tfattn.ops and wired together in tfattn.models."""
