"""Raw files in, checked and split rows, records, and batches in a reproducible order out."""
