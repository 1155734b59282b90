"""The gRPC services of the built-in server, as TF Serving's clients call them."""
