#!/usr/bin/env python3
"""Works out a swiglu layer with a shared expert from the arrays of a dump, and compares with what the dump expects and got.

    check_dump.py FOLDER

Reads .npy by hand: a test should not need NumPy."""
import array
import ast
import math
import os
import sys

folder = sys.argv[1]


def load(name):
    """(shape, values); uint16 is bf16."""
    data = open(os.path.join(folder, name + ".npy"), "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", name
    end = 10 + int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:end].decode().strip())
    assert header["fortran_order"] is False
    code = {"<u2": "H", "<i4": "i", "<f4": "f"}[header["descr"]]
    values = array.array(code, data[end:])
    count = math.prod(header["shape"])
    assert len(values) == count, (name, len(values), header)
    if code == "H":
        words = array.array("I", (bits << 16 for bits in values))
        values = array.array("f", words.tobytes())
    return header["shape"], values


def matrix(name, index):
    (count, rows, columns), values = load(name)
    assert index < count
    first = index * rows * columns
    return [values[first + r * columns : first + (r + 1) * columns] for r in range(rows)]


def times(m, v):
    return [math.fsum(a * b for a, b in zip(row, v)) for row in m]


def mlp(prefix, index, x):
    gate, up = times(matrix(prefix + "gate", index), x), times(matrix(prefix + "up", index), x)
    h = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
    return times(matrix(prefix + "down", index), h)


def distance(a, b):
    return math.sqrt(sum((p - q) ** 2 for p, q in zip(a, b)) / sum(q * q for q in b))


(tokens, hidden), x = load("x_0")
(_, top_k), ids = load("topk_ids_0")
weights, expected, out = load("topk_weights_0")[1], load("expected_0")[1], load("out_0")[1]
for t in range(tokens):
    row = x[t * hidden : (t + 1) * hidden]
    want = mlp("shared_", 0, row)
    for j in range(t * top_k, (t + 1) * top_k):
        if ids[j] >= 0:
            want = [a + weights[j] * b for a, b in zip(want, mlp("", ids[j], row))]
    for name, values in (("expected", expected), ("out", out)):
        off = distance(values[t * hidden : (t + 1) * hidden], want)
        assert off < 1e-2, f"token {t}: {name} is off by {off}"
print(f"{tokens} tokens agree")
