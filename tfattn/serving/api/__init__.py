"""The parts of TF Serving's API that the server and its clients share: tensors, signatures, failures, tokens."""
