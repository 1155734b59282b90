"""Attention as people see it: what a model looks at in one input, as a page, a picture and in notebooks."""
