"""Architectures: layers wired together, without heads or losses (those are in tfattn.tasks)."""
