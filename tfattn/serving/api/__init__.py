"""The parts of TF Serving's API that server and clients share: tensors, signatures, failures, tokens."""
