"""The server: the built-in one, or TF Serving's own where it is installed."""
