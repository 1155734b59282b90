"""Answers from exported models: the SavedModel alone, without the code that made it."""
