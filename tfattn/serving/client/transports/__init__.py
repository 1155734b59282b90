"""The two ways of a client to a server: REST and gRPC."""
