"""The server: the built-in server, or tensorflow_model_server if it is installed."""
