"""Examples: raw rows encoded for a model, with their targets."""
