"""Metrics and logs of REST requests."""

from grpc import StatusCode

from tfattn.serving.models.models import Models
from tfattn.serving.models.version import Version
from tfattn.serving.monitoring.logs import log
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.section import Serving


class RequestMetrics:
    """A recorder of requests in the metrics and the log.

    Names of models that are not served are neither counted nor logged.

    Args:
        models: the served models.
        serving: the server's settings.
        metrics: the server's metrics.
    """

    def __init__(self, models: Models, serving: Serving, metrics: Metrics):
        self._models, self._serving, self._metrics = models, serving, metrics

    def record(self, api: str, model: str | None, version: Version | None, code: StatusCode, seconds: float) -> None:
        """Count and log a request.

        Args:
            api: the method, such as "predict"; empty if the request is malformed.
            model: the requested name.
            version: the version that answered; None without an answer.
            code: the final status.
            seconds: the time from arrival to end.
        """
        model_name = model if model in self._models.names else ""
        number = version.number if version else None
        self._metrics.request(model_name, number, api=api, entrypoint="REST", code=code, seconds=seconds)
        if self._serving.log_requests:
            log("request", entrypoint="REST", api=api, model=model_name, version=number, code=code, seconds=seconds)
