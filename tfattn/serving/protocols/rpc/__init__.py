"""The gRPC services of the built-in server, compatible with TF Serving's clients."""
