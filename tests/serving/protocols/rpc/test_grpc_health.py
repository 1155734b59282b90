"""grpc.health.v1 reports the server's readiness."""

import grpc
import pytest
from grpc import StatusCode
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from tfattn.serving.protocols.rpc.grpc_health import SERVICES

SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING


@pytest.mark.parametrize("service", SERVICES)
def test_row_80_every_service_is_as_ready_as_the_server(server, service):
    health = HealthStub(server.channel)
    assert health.Check(HealthCheckRequest(service=service)).status == SERVING
    server.models.ready = False
    assert health.Check(HealthCheckRequest(service=service)).status == NOT_SERVING


def test_row_80_both_names_of_tf_serving_are_known():
    assert {"ModelService", "PredictionService", ""} < set(SERVICES)


def test_an_unknown_service_is_not_found(server, refused):
    health = HealthStub(server.channel)
    assert refused(health.Check, HealthCheckRequest(service="foo"))[0] == StatusCode.NOT_FOUND
    first = next(health.Watch(HealthCheckRequest(service="foo"), timeout=10))
    assert first.status == HealthCheckResponse.SERVICE_UNKNOWN


def test_a_watcher_receives_changes_and_does_not_block_shutdown(server):
    watched = HealthStub(server.channel).Watch(HealthCheckRequest(), timeout=10)
    assert next(watched).status == SERVING
    server.models.ready = False
    assert next(watched).status == NOT_SERVING
    server.models.ready = True
    assert next(watched).status == SERVING
    server.do(vars(server.models).update, {"ready": False, "draining": True})
    assert [answer.status for answer in watched] == [NOT_SERVING]
    assert watched.code() == StatusCode.OK


def test_a_disconnected_watcher_is_removed(server):
    watched = HealthStub(server.channel).Watch(HealthCheckRequest(), timeout=10)
    next(watched)
    watched.cancel()
    with pytest.raises(grpc.RpcError):
        next(watched)
    assert HealthStub(server.channel).Check(HealthCheckRequest()).status == SERVING
