"""From a trained task to a folder that TF Serving loads as it is, checked before it appears."""
