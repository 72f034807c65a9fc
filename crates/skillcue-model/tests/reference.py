# Tokens and vectors of the texts on stdin (a JSON array), by tokenizers and onnxruntime, for tests/real_model.rs.
import json
import sys

import numpy
import onnxruntime
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
tokenizer.enable_truncation(256)
tokenizer.no_padding()
session = onnxruntime.InferenceSession(sys.argv[1] + "/model.onnx")
names = [put.name for put in session.get_inputs()]
answers = []
for text in json.load(sys.stdin):
    ids = tokenizer.encode(text).ids
    row = numpy.array([ids], dtype=numpy.int64)
    feeds = {"input_ids": row, "attention_mask": numpy.ones_like(row), "token_type_ids": numpy.zeros_like(row)}
    hidden = session.run(None, {name: feeds[name] for name in names})[0][0]
    mean = hidden.mean(axis=0)
    answers.append([ids, (mean / numpy.linalg.norm(mean)).tolist()])
json.dump(answers, sys.stdout)
