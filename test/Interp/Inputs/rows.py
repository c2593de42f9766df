# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs schedules that cut by row on local processes, every element checked.

usage: rows.py FILE.coll
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from checked_rows import checkedRows  # noqa: E402

# Rows shorter than a vector, of no whole vectors, around the 2048 partial sums, and longer.
LENGTHS = [1, 5, 16, 100, 129, 1000, 2048, 2055, 5000]


def counts(length):
    """None, one, as many rows as ranks and more, several slots and rounds."""
    rows = [0, 1, 3, 7, 41] if length < 2000 else [1, 5]
    return ",".join(str(n * length) for n in rows)


def run(schedule, ranks, length, *arguments):
    command = ["coll-run", schedule, "--ranks", str(ranks), "--row", str(length), "--counts",
               counts(length), "-n", "2", "-w", "0", "--csv", *arguments]
    return checkedRows(command)


def main():
    file = sys.argv[1]
    rows = 0
    names = ["ringed", "mapped", "one_shot", "softened", "spread"]
    for i, length in enumerate(LENGTHS):
        for k in [i, i + 2]:
            types = "f32,bf16" if k % 2 else "f16,f64"
            rows += run(f"{file}:{names[k % 5]}", [3, 2, 5][i % 3], length, "-d", types)
    rows += run(f"{file}:one_shot", 2, 1000, "-d", "f32,f16", "--isa", "v2")
    rows += run(f"{file}:softened", 2, 1000, "-d", "f32,f16", "--isa", "v3")
    # More than four sinks and sources, which loops walk.
    rows += run(f"{file}:mapped", 8, 100, "-d", "bf16")
    rows += run(f"{file}:mapped", 3, 600, "-d", "f32", "--registered")
    print(f"{rows} rows, 0 wrong")


main()
