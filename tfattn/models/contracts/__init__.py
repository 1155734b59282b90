"""The contracts between tasks and models: a task asks for a capability, not for an architecture.

Before a task is built on a model, config/build.py checks that the model has every attribute that its contract declares,
and every method that is abstract here.
"""
