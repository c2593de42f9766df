# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes all-reduce + residual + RMSNorm in double precision from what coll-run has dumped.

usage: rms_close.py FOLDER RANKS ROW
"""

import array
import math
import sys

EPS = 0.125  # coll-run's scalar arguments


def read(folder, rank, name):
    data = array.array("f")
    with open(f"{folder}/rank{rank}.{name}.bin", "rb") as file:
        data.frombytes(file.read())
    return data


def main(folder, ranks, row):
    inputs = [read(folder, rank, "in") for rank in range(ranks)]
    chunks = ranks
    count = len(inputs[0])
    rows = count // row
    assert rows * row == count
    for r in range(rows):
        # The owner of the row's chunk computes it, of its own residual and weights.
        owner = next(c for c in range(chunks) if r < (rows // chunks) * (c + 1) + min(c + 1, rows % chunks))
        residual, w = read(folder, owner, "residual"), read(folder, owner, "w")
        span = range(r * row, (r + 1) * row)
        total = [math.fsum(data[i] for data in inputs) + residual[i] for i in span]
        scale = 1 / math.sqrt(math.fsum(x * x for x in total) / row + EPS)
        for rank in range(ranks):
            out = read(folder, rank, "out")
            for i, x in zip(span, total):
                want = x * scale * w[i - r * row]
                assert abs(out[i] - want) <= 1e-5 * (abs(want) + 1), (rank, r, i, out[i], want)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
