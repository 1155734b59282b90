"""Servers that answer everything wrongly, to show that the checks see it."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc


@contextlib.contextmanager
def rest(status: int, body: bytes, kind: str) -> Iterator[str]:
    """Answers every HTTP request alike."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = answer

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 256

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def rpc(code: grpc.StatusCode) -> Iterator[str]:
    """Answers every call with an empty message, or refuses it with this code."""

    def answer(_, context: grpc.ServicerContext) -> bytes:
        if code is not grpc.StatusCode.OK:
            context.abort(code, "wrong")
        return b""

    class Every(grpc.GenericRpcHandler):
        def service(self, _):
            return grpc.unary_unary_rpc_method_handler(answer)

    server = grpc.server(ThreadPoolExecutor(4), [Every()], options=[("grpc.max_receive_message_length", -1)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
