# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What we promise on a host, and whether the figures of one run of compare.py keep it.

Every target is a ratio within the run, so that it holds or not whatever the machine does that day.  A row that the
run did not measure is said to be so.
"""

import math

KIB, MIB = 1 << 10, 1 << 20
SIX = [8, KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB]
OTHERS = ["allgather", "reduce_scatter", "broadcast", "alltoall", "reduce", "gather", "scatter", "sendrecv"]
CALL_US = 0.04
MEMORY_BOUND = 64 * MIB


def unit(size):
    for limit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= limit:
            return "%d %s" % (size // limit, name)
    return "%d B" % size


def geometricMean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


class Run:
    """The rows of one run, by (operation, ranks, bytes)."""

    def __init__(self, rows):
        self.rows = {(r["operation"], r["ranks"], r["bytes"]): r for r in rows}

    def ratios(self, operation, ranks, sizes):
        """Best peer's time by ours, of what was measured: [(bytes, ratio)]."""
        found = [(s, self.rows.get((operation, ranks, s))) for s in sizes]
        return [(s, r["ratio"]) for s, r in found if r and r["ratio"]]


def latency(run):
    """No slower than the best peer plus 5 %, or than the exchange of a word plus a call."""
    for size in (8, 64, KIB, 2 * KIB):
        row = run.rows.get(("allreduce", 2, size))
        if not row or not row["floor_us"]:
            continue
        best = row["us"] * row["ratio"] if row["ratio"] else 0
        bound = max(1.05 * best, 1.1 * row["floor_us"] + CALL_US)
        yield ("allreduce %s" % unit(size), "<= %.2f us" % bound, "%.2f us" % row["us"], row["us"] <= bound)


def bandwidth(run):
    for operation, bounds in (("allreduce", [(64 * KIB, 1.25), (MIB, 1.7), (16 * MIB, 2.5), (64 * MIB, 2.5)]),
                              ("allreduce:registered", [(MIB, 7), (16 * MIB, 7), (64 * MIB, 7)])):
        for size, bound in bounds:
            for _, ratio in run.ratios(operation, 2, [size]):
                yield "%s %s" % (operation, unit(size)), ">= %g x" % bound, "%.2f x" % ratio, ratio >= bound
    row = run.rows.get(("allreduce:registered", 2, 64 * MIB))
    if row and row["floor_us"]:
        share = row["floor_us"] / row["us"]
        yield "allreduce:registered 64 MiB", ">= 90 % of a copy", "%.0f %%" % (100 * share), share >= 0.9


def others(run):
    all_ = []
    for operation in OTHERS:
        ratios = run.ratios(operation, 2, SIX)
        if not ratios:
            continue
        size, worst = min(ratios, key=lambda r: r[1])
        all_ += [ratio for _, ratio in ratios]
        yield operation, ">= 0.95 x everywhere", "%.2f x at %s" % (worst, unit(size)), worst >= 0.95
    if all_:
        mean = geometricMean(all_)
        yield "these together", ">= 1.5 x in the mean", "%.2f x" % mean, mean >= 1.5


def crowded(run):
    for ranks in (4, 8):
        ratios = run.ratios("allreduce", ranks, SIX)
        if not ratios:
            continue
        size, worst = min(ratios, key=lambda r: r[1])
        mean = geometricMean([ratio for _, ratio in ratios])
        name = "allreduce, %d ranks" % ranks
        yield name, ">= 1 x everywhere", "%.2f x at %s" % (worst, unit(size)), worst >= 1
        yield name, ">= 1.5 x in the mean", "%.2f x" % mean, mean >= 1.5


def halves(run):
    whole = run.rows.get(("allreduce", 2, 16 * MIB))
    for dtype in ("f16", "bf16"):
        row = run.rows.get(("allreduce:" + dtype, 2, 16 * MIB))
        if whole and row:
            share = row["us"] / whole["us"]
            yield "allreduce:%s 16 MiB" % dtype, "<= 1.2 x f32", "%.2f x" % share, share <= 1.2


def verdicts(rows, memoryBytes):
    """(what, bound, measured, whether it is kept) of every target that this run has figures for."""
    run = Run(rows)
    found = [v for target in (latency, bandwidth, others, crowded, halves) for v in target(run)]
    if memoryBytes is not None:
        found.append(("memory of 8 ranks together", "< %s" % unit(MEMORY_BOUND), "%.1f MiB" % (memoryBytes / MIB),
                      memoryBytes < MEMORY_BOUND))
    return found


def table(found):
    lines = ["%-30s %-24s %-20s" % ("target", "promised", "measured")]
    for what, bound, measured, isKept in found:
        lines.append("%-30s %-24s %-20s %s" % (what, bound, measured, "met" if isKept else "MISSED"))
    return "\n".join(lines)
