"""The files of a directory over HTTP, with ETags: a store that is only read, as behind a CDN.

Usage: files.py PORT DIRECTORY. werkzeug comes with moto.
"""

import sys

from werkzeug.exceptions import NotFound
from werkzeug.middleware.shared_data import SharedDataMiddleware
from werkzeug.serving import WSGIRequestHandler, run_simple


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_: object) -> None:
        pass


# A reader must ask: nothing is fresh without it.
files = SharedDataMiddleware(NotFound(), {"/": sys.argv[2]}, cache=True, cache_timeout=0)
run_simple("127.0.0.1", int(sys.argv[1]), files, threaded=True, request_handler=Quiet)
