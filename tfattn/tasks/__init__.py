"""What a model is for: a head, a loss, metrics and answers on top of a capability of tfattn.models."""
