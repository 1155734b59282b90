"""Texts that a decoder writes step by step: requests that join and leave a running batch, and what is told of them."""
