# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes a collective again from the inputs that coll-run has dumped, and compares the outputs.

usage: dumped.py sum-i32|sum-f32|alltoall FOLDER RANKS COUNT
"""

import array
import sys

kind, folder, ranks, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
code = "f" if kind == "sum-f32" else "i"


def read(rank, buffer):
    values = array.array(code)
    with open("%s/rank%d.%s.bin" % (folder, rank, buffer), "rb") as file:
        values.frombytes(file.read())
    return values


ins = [read(r, "in") for r in range(ranks)]
outs = [read(r, "out") for r in range(ranks)]
parts = ranks if kind == "alltoall" else 1
for values in ins + outs:
    assert len(values) == count * parts, len(values)
assert len(set(map(tuple, map(list, ins)))) == ranks, "inputs are alike"

for r in range(ranks):
    for i in range(count * parts):
        if kind == "alltoall":
            source, element = divmod(i, count)
            assert outs[r][i] == ins[source][r * count + element], (r, i)
        elif kind == "sum-i32":
            total = sum(values[i] for values in ins)
            assert (outs[r][i] - total) % (1 << 32) == 0, (r, i)
        else:
            total = sum(values[i] for values in ins)
            bound = ranks * 2.0**-24 * sum(abs(values[i]) for values in ins)
            assert abs(outs[r][i] - total) <= bound, (r, i, outs[r][i], total)
            assert outs[r][i] == outs[0][i], (r, i)
