"""The REST and gRPC APIs of TF Serving."""
