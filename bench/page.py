# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/Benchmarks.md: what one run of compare.py has measured, whole, with what it misses."""

import pathlib
import platform
import re
import subprocess
import time

HEAD = """# Benchmarks

Written by `./dev bench --compare --page docs/Benchmarks.md`; every figure of the tables is of one run. All programs take turns, so that
ratios hold whatever the machine does that day; absolute times do not carry over to other machines. How it measures: [`bench/compare.py`](../bench/compare.py).

"""
NOTES = "\n## Notes\n"
FLOORS = """
The floor is what no collective can beat here: up to 4 KiB one exchange of a word between neighbours, above a copy past the caches of as many bytes by
every rank at a time. Through slots a byte is copied twice. Bus bandwidth is that of nccl-tests; the last line of a table fits T = alpha + S / B by relative least squares.
"""


def processor():
    try:
        found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii"))
    except OSError:
        found = None
    return found.group(1) if found else platform.machine()


def versions():
    """What is compared with, by its Debian packages."""
    found = []
    for name, package in (("Open MPI", "openmpi-bin"), ("UCX", "libucx0"), ("MPICH", "mpich"), ("Gloo", "libgloo-dev")):
        try:
            result = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True,
                                    check=False)
        except OSError:
            return "versions unknown"
        if result.returncode == 0:
            found.append("%s %s" % (name, result.stdout.strip()))
    return ", ".join(found)


def verdictTable(verdicts):
    lines = ["| target | promised | measured | |", "|---|---|---|---|"]
    for what, bound, measured, isKept in verdicts:
        lines.append("| %s | %s | %s | %s |" % (what, bound, measured, "met" if isKept else "**missed**"))
    missed = sum(not v[3] for v in verdicts)
    lines.append("\n%d of %d are met%s." % (len(verdicts) - missed, len(verdicts), ", %d missed" % missed if missed else ""))
    return lines


def figures(groups, peers, fit, unit):
    lines = []
    for (ranks, operation), rows in groups.items():
        lines += ["\n### %s, %d ranks\n" % (operation, ranks),
                  "| bytes | us | GB/s | floor us | %s | best / ours |" % " | ".join(peers),
                  "|" + "---|" * (5 + len(peers))]
        for r in rows:
            cells = [unit(r["bytes"]), "%.2f" % r["us"], "%.2f" % r["GB/s"],
                     "%.2f" % r["floor_us"] if r["floor_us"] else "-"]
            cells += ["%.2f" % r[p] if r[p] else "-" for p in peers]
            lines.append("| %s | %s |" % (" | ".join(cells), "%.2f" % r["ratio"] if r["ratio"] else "-"))
        alpha, beta, residual = fit(rows)
        lines.append("\nT = %.2f us + S / %.2f GB/s, off by %.0f %%"
                     % (alpha, 1e-3 / beta if beta > 0 else float("inf"), 100 * residual))
    return lines


def write(path, plot, cores, verdicts, groups, peers, missing, counted, fit, unit):
    """`plot`: the picture's path from the page, or None."""
    lines = ["%s, %d processors, Linux %s; %s; %s." % (processor(), cores, platform.release().split("-")[0], versions(),
                                                       time.strftime("%Y-%m-%d", time.gmtime()))]
    lines += ["", "## Targets", ""] + verdictTable(verdicts) + [FLOORS]
    if plot:
        lines += ["![Latency and bus bandwidth](%s)" % plot, ""]
    lines += ["## Counted, the same in every run", ""] + ["* " + c for c in counted]
    lines += ["", "## Measured"] + figures(groups, peers, fit, unit)
    if missing:
        lines += ["", "Not compared:", ""] + ["* " + m for m in missing]
    # What people have written about it stays.
    path = pathlib.Path(path)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    notes = before[before.index(NOTES):] if NOTES in before else ""
    path.write_text(HEAD + "\n".join(lines) + "\n" + notes, encoding="utf-8")
