"""What a trained task is worth: figures, pictures, and a page that says it in plain words."""
