"""Makes `src/relevance/word_stems.txt` and `word_vectors.bin`: vectors of words whose sum is near to what a sentence
model makes of a text.

    python word_vectors.py MODEL_DIR WILD.jsonl.gz

MODEL_DIR has `model.onnx` and `tokenizer.json` of all-MiniLM-L6-v2 (Apache-2.0), as `skillcue model install` leaves
them; WILD has one skill a line, as {name, file}: its descriptions, headings and sentences are what is fitted on, and
nothing of them is written but single stems. Needs numpy, scipy, scikit-learn, onnxruntime, tokenizers, snowballstemmer.
Takes some ten minutes on two cores.
"""

import collections
import gzip
import json
import pathlib
import random
import re
import sys

import numpy as np
import onnxruntime
import scipy.sparse
import snowballstemmer
from scipy.sparse.linalg import cg
from sklearn.decomposition import PCA
from tokenizers import Tokenizer

DIMENSIONS, STEMS, RIDGE, TEXTS = 64, 8000, 2.0, 60_000
STOP = set("a an the and or of to in on for with by is are be this that it as at from".split())
stemmer = snowballstemmer.stemmer("english")
model_dir, wild = map(pathlib.Path, sys.argv[1:3])
out = pathlib.Path(__file__).resolve().parent.parent / "src" / "relevance"


def stems(text):
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    return stemmer.stemWords([word for word in re.findall(r"[a-z]{2,}", text) if word not in STOP])


def corpus():
    """Sentences of descriptions, two headings and three sentences of each body; and in how many files a word is."""
    random.seed(1)
    found, files = {}, collections.Counter()
    for line in gzip.open(wild):
        file = json.loads(line)["file"]
        files.update(set(re.findall(r"[a-z]{2,}", file.lower())))
        match = re.match(r"---\n(.*?)\n---\n(.*)", file, re.S)
        if not match:
            continue
        front, body = match.groups()
        description = re.search(r"^description:\s*(.*?)(?=^\w+:|\Z)", front, re.S | re.M)
        parts = re.split(r"(?<=[.!?;])\s+|\n", description[1].strip(" >|\"'\n")) if description else []
        headings = re.findall(r"^#+\s+(.*)$", body, re.M)
        prose = re.sub(r"```.*?```", "", body, flags=re.S)
        sentences = [part for part in re.split(r"\n\n|(?<=[.!?])\s+", prose) if re.match(r"[A-Za-z]", part)]
        random.shuffle(headings)
        random.shuffle(sentences)
        for text in parts + headings[:2] + [sentence[:220] for sentence in sentences[:3]]:
            text = " ".join(text[:300].split())
            if len(text) >= 12 and sum(ord(char) > 127 for char in text) < 0.2 * len(text):
                found[text] = None
    texts = list(found)
    random.shuffle(texts)
    return texts[:TEXTS], files


def embed(texts, tokenizer, session):
    encoded = tokenizer.encode_batch(texts)
    vectors = np.zeros((len(texts), 384), "f4")
    order = sorted(range(len(texts)), key=lambda at: len(encoded[at].ids))
    for start in range(0, len(order), 128):
        batch = order[start : start + 128]
        ids = np.zeros((len(batch), max(len(encoded[at].ids) for at in batch)), np.int64)
        mask = np.zeros_like(ids)
        for row, at in enumerate(batch):
            length = len(encoded[at].ids)
            ids[row, :length], mask[row, :length] = encoded[at].ids, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        result = session.run(None, {entry.name: given[entry.name] for entry in session.get_inputs()})[0]
        if result.ndim == 3:
            result = (result * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        vectors[batch] = result
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
tokenizer.enable_truncation(48)
tokenizer.no_padding()
session = onnxruntime.InferenceSession(str(model_dir / "model.onnx"))
texts, files = corpus()
known = [word for word in sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get) if re.fullmatch(r"[a-z]{2,}", word)]
words = known + [word for word, count in files.most_common() if count >= 8 and word not in set(known) and len(word) <= 20]
of_words, of_texts = embed(words, tokenizer, session), embed(texts, tokenizer, session)

# The stems: the most frequent ones, in the texts and in the model's own vocabulary.
tokens = [stems(text) for text in texts]
having = collections.Counter(stem for text in tokens for stem in set(text))
sums = collections.defaultdict(lambda: np.zeros(385))
ranks = {}
for rank, (word, vector) in enumerate(zip(words, of_words)):
    stem = stemmer.stemWord(word)
    sums[stem] += (files[word] + 0.5) * np.append(vector, 1)
    ranks.setdefault(stem, rank)
chosen = sorted(sums, key=lambda stem: 3 * having[stem] + 4000 / (1 + ranks[stem] / 200), reverse=True)[:STEMS]
numbers = {stem: number for number, stem in enumerate(chosen)}

# Each stem alone first; then all of them, moved so that sums fit the vectors of the texts.
alone = np.array([sums[stem][:384] / sums[stem][384] for stem in chosen])
alone -= alone.mean(0)
axes = PCA(DIMENSIONS, random_state=0).fit(of_texts).components_.T
aim = of_texts @ axes - of_texts.mean(0) @ axes
aim /= np.linalg.norm(aim, axis=1, keepdims=True)
first = alone @ axes
first /= np.linalg.norm(first, axis=1, keepdims=True)
rarity = np.array([np.log((len(tokens) + 1) / (having[stem] + 1)) for stem in chosen])
first *= (rarity / rarity.max())[:, None]
rows, columns, values = [], [], []
for row, text in enumerate(tokens):
    counts = collections.Counter(numbers[stem] for stem in text if stem in numbers)
    for column, count in counts.items():
        rows.append(row), columns.append(column), values.append((count / len(counts)) ** 0.5)
shares = scipy.sparse.csr_matrix((values, (rows, columns)), shape=(len(tokens), len(chosen)))
made = shares @ first
scale = (made * aim).sum() / (made * made).sum()
normal = (shares.T @ shares).tocsr() + RIDGE * scipy.sparse.eye(len(chosen))
wanted = shares.T @ (aim - scale * made)
moved = np.stack([cg(normal, wanted[:, at], maxiter=60)[0] for at in range(DIMENSIONS)], axis=1)
vectors = scale * first + moved
vectors = np.clip(np.round(vectors * 127 / np.quantile(np.abs(vectors), 0.999)), -127, 127).astype("i1")
(out / "word_stems.txt").write_text("\n".join(chosen) + "\n")
vectors.tofile(out / "word_vectors.bin")
print(f"{vectors.shape[0]} stems, {vectors.nbytes:,} bytes")
