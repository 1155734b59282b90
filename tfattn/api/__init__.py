"""The Python interface: pipelines as objects, runs, and models that predict DataFrames."""
