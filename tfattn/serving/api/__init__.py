"""What TF Serving's API is made of for every side of it: tensors, signatures, failures, tokens."""
