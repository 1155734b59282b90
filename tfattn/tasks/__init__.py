"""What a model is for: a head, a loss, metrics and predictions on top of a capability of tfattn.models."""
