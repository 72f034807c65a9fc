"""moto's S3 server at a port, with a thread for each request.

moto compares a conditional write's tag and stores the object without a lock between; real stores do both at once. So
conditional writes, and they alone, wait for each other: what publishers see is a store whose conditional writes are what
they are on S3, and whose other requests overlap.
"""

import sys
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple


class Quiet(WSGIRequestHandler):
    def log_request(self, *_: object) -> None:
        pass


class AtomicConditions:
    """Does one conditional write after another."""

    def __init__(self, app) -> None:
        self.app, self.lock = app, threading.Lock()

    def __call__(self, environ, start_response):
        is_conditional = "HTTP_IF_MATCH" in environ or "HTTP_IF_NONE_MATCH" in environ
        if environ["REQUEST_METHOD"] != "PUT" or not is_conditional:
            return self.app(environ, start_response)
        with self.lock:
            # All of the answer, so that the object is stored before the lock is free.
            return list(self.app(environ, start_response))


run_simple(
    "127.0.0.1",
    int(sys.argv[1]),
    AtomicConditions(DomainDispatcherApplication(create_backend_app)),
    threaded=True,
    request_handler=Quiet,
)
