"""Guided generation: masks of next tokens for texts that are a choice, match a pattern, or are JSON of a schema."""
