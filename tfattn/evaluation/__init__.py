"""Evaluation of trained models: metrics, plots, and the report."""
