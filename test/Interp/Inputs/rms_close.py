# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes all-reduce + residual + RMSNorm in double precision from what coll-run has dumped.

usage: rms_close.py FOLDER RANKS ROW
"""

import array
import math
import sys


def read(folder, rank, name, kind="f"):
    data = array.array(kind)
    with open(f"{folder}/rank{rank}.{name}.bin", "rb") as file:
        data.frombytes(file.read())
    return data


def main(folder, ranks, row):
    inputs = [read(folder, rank, "in") for rank in range(ranks)]
    # What the contract requires to be the same on all ranks.
    residual, w, eps = [read(folder, 0, name, kind) for name, kind in (("residual", "f"), ("w", "f"), ("eps", "d"))]
    for rank in range(ranks):
        assert (residual, w) == (read(folder, rank, "residual"), read(folder, rank, "w")), rank
    count = len(inputs[0])
    rows = count // row
    assert rows * row == count
    for r in range(rows):
        span = range(r * row, (r + 1) * row)
        total = [math.fsum(data[i] for data in inputs) + residual[i] for i in span]
        scale = 1 / math.sqrt(math.fsum(x * x for x in total) / row + eps[0])
        for rank in range(ranks):
            out = read(folder, rank, "out")
            for i, x in zip(span, total):
                want = x * scale * w[i - r * row]
                assert abs(out[i] - want) <= 1e-5 * (abs(want) + 1), (rank, r, i, out[i], want)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
