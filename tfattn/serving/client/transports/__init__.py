"""The two transports of a client: REST and gRPC."""
