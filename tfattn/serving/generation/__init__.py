"""Text generation with continuous batching: requests, sequences, the batch that is decoded and its scheduler."""
