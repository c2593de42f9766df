#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All-reduce + residual + RMSNorm: fused against an all-reduce and a pass of its own.

usage: rows.py [--build DIR] [--ranks N] [--row E] [-d TYPE] [--repeat N]

The three schedules take turns; the figures are medians over the turns, and
a ratio is of times of one run.
"""

import argparse
import os
import statistics
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEDULES = [os.path.join(HERE, "..", "examples", "rmsnorm.coll:allreduce_rmsnorm"),
             os.path.join(HERE, "rows.coll:sums_travel"),
             os.path.join(HERE, "rows.coll:allreduce"), os.path.join(HERE, "rows.coll:norm")]


def times(options, schedule):
    """Microseconds by the number of elements."""
    counts = ",".join(str(options.row * rows) for rows in options.rows)
    command = [os.path.join(options.build, "bin", "coll-run"), schedule,
               "--ranks", str(options.ranks), "--row", str(options.row), "--counts", counts,
               "-d", options.dtype, "-c", "0", "--csv", "-w", "3"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names = lines[0].split(",")
    rows = [dict(zip(names, line.split(","))) for line in lines[1:]]
    return {int(row["count"]): float(row["time_us"]) for row in rows
            if row["mode"] == "out-of-place"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--row", type=int, default=4096)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 128, 1024])
    parser.add_argument("-d", dest="dtype", default="bf16")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    taken = {}
    for _ in range(options.repeat):
        for schedule in SCHEDULES:
            for count, us in times(options, schedule).items():
                taken.setdefault((count, schedule), []).append(us)
    print(f"{options.ranks} ranks, {options.dtype}, rows of {options.row}")
    print("   rows  fused us  sums travel us  all-reduce us  norm us  ratios")
    for rows in options.rows:
        fused, travel, reduced, normed = (statistics.median(taken[rows * options.row, s])
                                          for s in SCHEDULES)
        both = reduced + normed
        print(f"{rows:7} {fused:9.1f} {travel:15.1f} {reduced:14.1f} {normed:8.1f} "
              f"{both / fused:6.2f} {both / travel:6.2f}")


main()
