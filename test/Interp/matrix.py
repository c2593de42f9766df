# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the schedules of one standard contract on local processes, every element checked.

usage: matrix.py LIBRARY CONTRACT [--all] [--part I/N] [--device FOLDER]

The quick tier takes each rank count with every dtype, each with every op, and every
(dtype, op) once; --all takes the full product, and other schedules of the contract too.
--part: only every N-th of these schedules, from the I-th on.

--device: on CUDA devices, by way of the libcuda.so.1 in FOLDER, in processes; --all also
as threads that share one, replayed from graphs.
"""

import sys

from checked_rows import checkedRows

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


def run(library, schedule, ranks, arguments, environment=None):
    file, *rest = schedule.split()
    name, entry = file.split(":")
    command = ["coll-run", f"{library}/{name}.coll:{entry}", "--ranks", str(ranks), "-n", "1",
               "-w", "0", "-r", "all", "--csv", *rest, *arguments]
    return checkedRows(command, environment)


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


def deviceVariants(reduces, everything, isFirst):
    """The same on devices: ranks, number of devices, arguments. Every type and op is
    for the contract's first schedule alone: kernels take long to make."""
    # An assembler's work is of no use to a driver that takes bitcode.
    base = ["--device", "cuda", "--ptxas", "none"]
    if not reduces:
        types = ["-d", "i8,f32" if everything else "i8"]
    elif everything and isFirst:
        types = ["-d", "all", "-o", "all"]
    else:
        types = ["-d", "f32,bf16,f64,i8", "-o", "sum"]
    yield 3, 3, [*base, *types, "--counts", COUNTS]
    if not everything:
        return
    few = ["-d", "f32,f16" if reduces else "f32", "--counts", "1,30011"]
    yield 2, 2, [*base, *few]
    yield 4, 1, [*base, *few, "--as-threads", "-G", "2"]


def runOnDevices(library, contract, everything, folder):
    schedules, reduces = CONTRACTS[contract]
    rows = 0
    for schedule in schedules if everything else schedules[:1]:
        isFirst = schedule == schedules[0]
        for ranks, devices, arguments in deviceVariants(reduces, everything, isFirst):
            rows += run(library, schedule, ranks, arguments,
                        {"LD_LIBRARY_PATH": folder, "COLL_STANDIN_DEVICES": str(devices),
                         "COLL_STANDIN_SMS": "64"})
    print(f"{contract}: {rows} rows, 0 wrong")


def main():
    library, contract, everything = sys.argv[1], sys.argv[2], "--all" in sys.argv
    if "--device" in sys.argv:
        folder = sys.argv[sys.argv.index("--device") + 1]
        for each in CONTRACTS if contract == "each" else contract.split(","):
            runOnDevices(library, each, everything, folder)
        return
    schedules, reduces = CONTRACTS[contract]
    part, parts = 0, 1
    if "--part" in sys.argv:
        part, parts = map(int, sys.argv[sys.argv.index("--part") + 1].split("/"))
    rows = 0
    for schedule in (schedules if everything else schedules[:1])[part::parts]:
        for ranks, arguments in variants(contract, reduces, everything):
            rows += run(library, schedule, ranks, arguments)
    print(f"{contract}: {rows} rows, 0 wrong")


main()
