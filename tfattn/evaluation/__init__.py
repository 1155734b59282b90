"""What a trained task is worth: metrics, pictures, and a page that says it in plain words."""
