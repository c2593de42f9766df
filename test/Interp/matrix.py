# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the schedules of one standard contract on local processes, every element checked.

usage: matrix.py CONTRACT [--all]

The quick tier takes each rank count with every dtype, each with every op, and every
(dtype, op) once; --all takes the full product, and other schedules of the contract too.
"""

import subprocess
import sys

RANKS = [2, 3, 4, 5, 7, 8]
OPS = ["sum", "prod", "min", "max", "avg", "premul_sum"]
COUNTS = "0,1,3,1021"
LARGE = "1000003"

# contract: its schedules, the first of which the quick tier runs; reduces?
CONTRACTS = {
    "send_recv": (["p2p:p2p -D a=0 -D b=1", "p2p:p2p_on -D a=1 -D b=0"], False),
    "broadcast": (["root:broadcast_chain"], False),
    "scatter": (["root:scatter_direct"], False),
    "gather": (["root:gather_direct", "root:gather_binomial"], False),
    "reduce": (["root:reduce_tree"], True),
    "allreduce": (
        ["ring:allreduce_ring", "tree:allreduce_double_tree", "tree:allreduce_rhd",
         "nvls:allreduce_one_shot", "nvls:allreduce_two_shot",
         "ring:allreduce_ring_bidir", "p2p:allreduce_ring_spmd"], True),
    "reduce_scatter": (["ring:reduce_scatter_ring", "tree:reduce_scatter_pat"], True),
    "allgather": (["ring:allgather_ring", "tree:allgather_bruck", "tree:allgather_pat"], False),
    "alltoall": (["hier:alltoall_direct"], False),
    "allgatherv": (["hier:allgatherv_ring"], False),
    "alltoallv": (["hier:alltoallv_direct"], False),
    "scan": (["root:scan_linear"], True),
    "barrier": (["barrier:barrier_dissemination"], False),
}


def run(library, schedule, ranks, arguments):
    file, *rest = schedule.split()
    name, entry = file.split(":")
    command = ["coll-run", f"{library}/{name}.coll:{entry}", "--ranks", str(ranks), "-n", "1",
               "-w", "0", "-r", "all", "--csv", *rest, *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    lines = result.stdout.splitlines()[1:]
    wrong = [line for line in lines if not line.endswith(",0")]
    if result.returncode != 0 or wrong or not lines:
        print(" ".join(command), f": exit {result.returncode}, {len(lines)} rows")
        print("\n".join(wrong[:20]), result.stderr[-3000:])
        sys.exit(1)
    return len(lines)


def variants(contract, reduces, everything):
    """The arguments of the runs at each rank count."""
    for i, ranks in enumerate(RANKS):
        if not reduces:
            yield ranks, ["-d", "i8,f16,f32,f64", "--counts", COUNTS]
        elif everything:
            yield ranks, ["-d", "all", "-o", "all", "--counts", COUNTS]
        else:
            # avg is for plain reductions over all ranks alone.
            ops = [op for op in OPS if contract != "scan" or op != "avg"]
            yield ranks, ["-d", "all", "-o", ops[i % len(ops)], "--counts", COUNTS]
            yield ranks, ["-d", "f32,bf16", "-o", ",".join(ops), "--counts", COUNTS]
        if everything or i == 2:
            yield ranks, ["-d", "f32,bf16", "-o", "sum", "--counts", LARGE]


def main():
    library, contract, everything = sys.argv[1], sys.argv[2], "--all" in sys.argv
    schedules, reduces = CONTRACTS[contract]
    rows = 0
    for schedule in schedules if everything else schedules[:1]:
        for ranks, arguments in variants(contract, reduces, everything):
            rows += run(library, schedule, ranks, arguments)
    print(f"{contract}: {rows} rows, 0 wrong")


main()
