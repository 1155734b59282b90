"""Pipeline files for users: shipped recipes, and pipelines written for the user's own data."""
