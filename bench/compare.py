# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our collectives on this host beside its limits and other libraries, in one run.

Programs take turns, round by round, so that all meet the same moods of the machine;
every figure is the median over the rounds.  Beside ours stands the floor that was
measured between our own batches (Host.cpp): one exchange of a word for what fits
4 KiB, else a copy past the caches with all ranks active.
"""

import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SIZES = [8, 64, 1 << 10, 2 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
BATCHES, ROUNDS = 5, 3
TIMEOUT_S = 300
FLOORS = ("exchange", "copy")
OURS = "coll"
# Untuned, an MPI gives the memory of its temporaries back and faults it in again: up to ten times slower.
TUNED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
         "MALLOC_TOP_PAD_": str(1 << 28)}
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(command, **options):
    return subprocess.run([str(c) for c in command], check=True, text=True, **options)


def buildOurs(folder):
    binaries = ROOT / "build" / "bin"
    run([binaries / "colc", HERE / "host.coll", "-I", ROOT / "lib" / "Library", "--ranks", "2", "--ranks", "4",
         "--ranks", "8", "--dtypes=f32", "--ops=sum", "-o", folder / "host"])
    run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-I", folder, "-I", ROOT / "runtime" / "include",
         HERE / "Host.cpp", folder / "host.o", ROOT / "build" / "lib" / "libcoll.a", "-lpthread", "-o",
         folder / "ours"])
    return folder / "ours"


def findPeers(folder):
    """(name, function ranks -> command and environment) of what is there, and why others are not."""
    found, missing = [], []

    def openMpi(program, ranks):
        yielding = {"OMPI_MCA_mpi_yield_when_idle": "1"} if ranks > (os.cpu_count() or 1) else {}
        return (["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", ranks, program],
                {**OPEN_MPI, **TUNED, **yielding})

    def mpich(program, ranks):
        return ["mpirun.mpich", "-bind-to", "none", "-n", ranks, program], TUNED

    for name, suffix, command in (("Open MPI", "openmpi", openMpi), ("MPICH", "mpich", mpich)):
        compiler = "mpicc." + suffix
        if not shutil.which(compiler) or not shutil.which("mpirun." + suffix):
            missing.append(name + ": not installed")
            continue
        program = folder / ("mpi." + suffix)
        if subprocess.run([compiler, "-O2", HERE / "mpi.c", "-o", program], capture_output=True).returncode:
            missing.append(name + ": %s does not compile" % compiler)
            continue
        found.append((name, lambda ranks, p=program, c=command: c(p, ranks)))
    return found, missing


def measure(command, environment, table, name):
    """Adds a program's lines to table[(name, ranks, bytes)][library]."""
    result = subprocess.run([str(c) for c in command], env={**os.environ, **environment}, text=True,
                            stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    if result.returncode != 0:
        raise SystemExit("bench: %s failed: %s" % (name, " ".join(str(c) for c in command)))
    for line in result.stdout.splitlines():
        operation, ranks, size, us = line.split(",")
        table[operation, int(ranks), int(size)][name].append(float(us))


def collect(folder, ranksList, sizes):
    ours = buildOurs(folder)
    peers, missing = findPeers(folder)
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    tail = [BATCHES] + sizes
    for ranks in ranksList:
        for _ in range(ROUNDS):
            measure([ours, ranks] + tail, {}, samples, OURS)
            for name, command in peers:
                line, environment = command(ranks)
                measure(line + tail, environment, samples, name)
    medians = {key: {name: statistics.median(values) for name, values in row.items()}
               for key, row in samples.items()}
    return medians, [name for name, _ in peers], missing


def rowsOf(medians, peers):
    """One row per operation, rank count and size, with its floor."""
    rows = []
    for (operation, ranks, size), times in sorted(medians.items(), key=lambda i: (i[0][1], i[0][0], i[0][2])):
        if operation in FLOORS:
            continue
        floor = next((medians[f, ranks, size][OURS] for f in FLOORS if (f, ranks, size) in medians), None)
        best = min((times[p] for p in peers if p in times), default=None)
        rows.append({"operation": operation, "ranks": ranks, "bytes": size, "us": times[OURS],
                     "GB/s": size / times[OURS] / 1e3, "floor_us": floor,
                     "ratio": best / times[OURS] if best else None,
                     **{p: times.get(p) for p in peers}})
    return rows


def fit(rows):
    """alpha (us), beta (us per byte) and the residual of T = alpha + bytes * beta, by relative least squares."""
    points = [(r["bytes"], r["us"]) for r in rows]
    weights = [1 / us ** 2 for _, us in points]
    total = sum(weights)
    meanX = sum(w * x for w, (x, _) in zip(weights, points)) / total
    meanY = sum(w * y for w, (_, y) in zip(weights, points)) / total
    spread = sum(w * (x - meanX) ** 2 for w, (x, _) in zip(weights, points))
    if not spread:
        return meanY, 0.0, 0.0
    beta = sum(w * (x - meanX) * (y - meanY) for w, (x, y) in zip(weights, points)) / spread
    alpha = meanY - beta * meanX
    residual = (sum(((alpha + beta * x) / y - 1) ** 2 for x, y in points) / len(points)) ** 0.5
    return alpha, beta, residual


def groups(rows):
    result = collections.OrderedDict()
    for row in rows:
        result.setdefault((row["ranks"], row["operation"]), []).append(row)
    return result


def printTable(rows, peers, missing):
    header = "%10s %10s %9s %10s" % ("bytes", "us", "GB/s", "floor us") + "".join(" %10s" % p for p in peers)
    for (ranks, operation), group in groups(rows).items():
        print("\n%s, %d ranks" % (operation, ranks))
        print(header + ("  best peer / ours" if peers else ""))
        for r in group:
            line = "%10d %10.2f %9.2f %10.2f" % (r["bytes"], r["us"], r["GB/s"], r["floor_us"] or 0)
            line += "".join(" %10.2f" % r[p] if r[p] else " %10s" % "-" for p in peers)
            print(line + ("  %8.2f" % r["ratio"] if r["ratio"] else ""))
        alpha, beta, residual = fit(group)
        print("T = %.2f us + bytes / %.2f GB/s, off by %.0f %%"
              % (alpha, 1e-3 / beta if beta > 0 else float("inf"), 100 * residual))
    print()
    for name in missing + ["Gloo: there is no runner for it yet"]:
        print("not compared: " + name)


def main(ranksList, sizes, folder, csvFile=None, jsonFile=None, svgFile=None):
    medians, peers, missing = collect(pathlib.Path(folder), ranksList, sizes)
    rows = rowsOf(medians, peers)
    printTable(rows, peers, missing)
    if csvFile:
        with open(csvFile, "w", encoding="utf-8") as file:
            file.write(",".join(rows[0]) + "\n")
            for row in rows:
                file.write(",".join("" if v is None else str(v) for v in row.values()) + "\n")
    if jsonFile:
        pathlib.Path(jsonFile).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if svgFile:
        import plot  # beside this file
        plot.write(rows, [OURS] + peers, svgFile)
    return 0
