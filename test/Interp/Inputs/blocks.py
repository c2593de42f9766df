# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs schedules with elements in mxe4m3 on local processes, every element checked.

usage: blocks.py FILE.coll
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from checked_rows import checkedRows  # noqa: E402

# Around a block, around 16 of them that lie together, several slots and rounds.
COUNTS = "0,1,31,33,513,5003,70001"


def run(schedule, ranks, *arguments):
    command = ["coll-run", schedule, "--ranks", str(ranks), "--counts", COUNTS, "-n", "2",
               "-w", "0", "--csv", *arguments]
    return checkedRows(command)


def main():
    file = sys.argv[1]
    rows = run(f"{file}:wire", 3, "-d", "f32,bf16,f16,f64")
    rows += run(f"{file}:kept", 3, "-d", "f32,bf16")
    rows += run(f"{file}:posted", 2, "-d", "f32,bf16")
    rows += run(f"{file}:ringed", 3, "-d", "f32,bf16", "--registered")
    rows += run(f"{file}:again", 3, "-d", "f32,bf16")
    rows += run(f"{file}:folded", 4, "-d", "f32,bf16")
    rows += run(f"{file}:ringed", 2, "-d", "f32,bf16", "--isa", "v2")
    rows += run(f"{file}:wire", 2, "-d", "f16,f64", "--isa", "v3")
    print(f"{rows} rows, 0 wrong")


main()
