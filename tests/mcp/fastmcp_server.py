"""Serves a directory of skills with `fastmcp`, for load.py to compare with.

    python fastmcp_server.py DIRECTORY (default|experimental)

`default` is the skills provider as its documentation shows it; `experimental` is the same provider with
`experimental_skills=True`, which finds a file by its path instead of asking every skill whether it is its own. Answers are plain JSON
instead of event streams, and nothing is logged: both make it faster.
"""

import logging
import socket
import sys
from pathlib import Path

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider

# As many resources a page as `skillcue mcp` has.
PAGE = 500


def main() -> None:
    directory, variant = sys.argv[1:]
    logging.disable(logging.WARNING)
    server = FastMCP("skills", list_page_size=PAGE)
    provider = SkillsDirectoryProvider(roots=Path(directory), experimental_skills=variant == "experimental")
    server.add_provider(provider)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(4096)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    app = server.http_app(path="/mcp", json_response=True)
    # A connection that waits for its turn is not closed: opening a thousand sessions takes it longer than the usual 5 s.
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_keep_alive=600)
    uvicorn.Server(config).run(sockets=[listener])


main()
