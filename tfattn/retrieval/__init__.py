"""Search by meaning: an index of text vectors, and its queries."""
