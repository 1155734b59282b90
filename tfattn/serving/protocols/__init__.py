"""REST and gRPC, as TF Serving speaks them."""
