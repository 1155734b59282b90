"""What is counted and logged of requests."""

from grpc import StatusCode

from tfattn.serving.models.models import Models
from tfattn.serving.models.version import Version
from tfattn.serving.monitoring.logs import log
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.section import Serving


class Accounts:
    """Counts and logs requests, of which only what the server knows may be logged.

    Args:
        models: what is served.
        serving: the settings.
        metrics: what counts.
    """

    def __init__(self, models: Models, serving: Serving, metrics: Metrics):
        self._models, self._serving, self._metrics = models, serving, metrics

    def tell(self, api: str, model: str | None, version: Version | None, code: StatusCode, seconds: float) -> None:
        """Count and log a request.

        Args:
            api: what was asked for, such as "predict"; empty where that made no sense.
            model: the name that was asked for.
            version: what answered; None if nothing did.
            code: how it ended.
            seconds: from its arrival to its end.
        """
        known = model if model in self._models.names else ""
        number = version.number if version else None
        self._metrics.request(known, number, api=api, entrypoint="REST", code=code, seconds=seconds)
        if self._serving.log_requests:
            log("request", entrypoint="REST", api=api, model=known, version=number, code=code, seconds=seconds)
