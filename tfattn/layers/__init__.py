"""What holds weights: each layer one idea, built on tfattn.ops and put together in tfattn.models."""
