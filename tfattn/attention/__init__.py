"""Views of the attention of a model for an input, as a page, as a picture and in notebooks."""
