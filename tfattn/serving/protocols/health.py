"""Health: whether the server is alive, and whether it is ready for requests."""

from dataclasses import dataclass

from tfattn.serving.models.models import Models


@dataclass
class Health:
    """The answers to health probes.

    Attributes:
        models: the served models.
        draining: whether the server is shutting down. It still answers requests, but asks clients to close connections.
    """

    models: Models
    draining: bool = False

    @property
    def ready(self) -> bool:
        """Whether every model is available and the server is not stopping."""
        return self.models.ready and not self.draining
