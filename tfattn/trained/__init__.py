"""What training leaves: models with their best weights that predict as one, and what they predict for a split."""
