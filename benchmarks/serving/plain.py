"""A plain gRPC server, which runs the SavedModel once per request, in eight threads.

python -m benchmarks.serving.plain FOLDER      prints its address when it is ready
"""

import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the operations of tokenizers
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse
from tensorflow_serving.apis.prediction_service_pb2_grpc import (
    PredictionServiceServicer,
    add_PredictionServiceServicer_to_server,
)

THREADS = 8


class Plain(PredictionServiceServicer):
    """The service, which answers each request separately."""

    def __init__(self, folder: Path):
        self._model = tf.saved_model.load(str(folder))
        self._function = self._model.signatures["serving_default"]

    def Predict(self, request: PredictRequest, context: grpc.ServicerContext) -> PredictResponse:
        """Run the signature."""
        inputs = {name: tf.constant(tf.make_ndarray(proto)) for name, proto in request.inputs.items()}
        response = PredictResponse()
        for name, tensor in self._function(**inputs).items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(tensor.numpy()))
        return response


def main() -> None:
    """Serve until SIGTERM."""
    server = grpc.server(ThreadPoolExecutor(THREADS))
    add_PredictionServiceServicer_to_server(Plain(Path(sys.argv[1])), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"127.0.0.1:{port}", flush=True)
    signal.sigwait([signal.SIGTERM])


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    main()
