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
import re
import shutil
import statistics
import subprocess

import page
import plot
import targets

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SIZES = [8, 64, 1 << 10, 2 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]
BATCHES, ROUNDS = 5, 3
QUICK_ROUNDS = 1
# More ranks than that share processors, where all-reduce stands for all.
MANY_RANKS = 2
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
    for source, name in ((ROOT / "lib" / "Library" / "standard.coll", "standard"), (HERE / "host.coll", "host")):
        run([binaries / "colc", source, "-I", ROOT / "lib" / "Library", "--ranks", "1", "--ranks", "2",
             "--ranks", "4", "--ranks", "8", "--dtypes=f32,f16,bf16", "--ops=sum", "-o", folder / name])
    run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-I", folder, "-I", ROOT / "runtime" / "include",
         HERE / "Host.cpp", folder / "standard.o", folder / "host.o", ROOT / "build" / "lib" / "libcoll.a", "-lpthread",
         "-Wl,-S",  # valgrind cannot read what clang 22 writes for debuggers
         "-o", folder / "ours"])
    return folder / "ours"


def mpirun(name, program, ranks, extra=()):
    return ["mpirun." + name, *extra, "-bind-to" if name == "mpich" else "--bind-to", "none", "-n", ranks, program]


def openMpi(program, ranks, extra=()):
    yielding = {"OMPI_MCA_mpi_yield_when_idle": "1"} if ranks > (os.cpu_count() or 1) else {}
    return mpirun("openmpi", program, ranks, ["--oversubscribe", *extra]), {**OPEN_MPI, **TUNED, **yielding}


def openMpiUcx(program, ranks):
    return openMpi(program, ranks, ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices",
                                    "any", "-x", "UCX_TLS=self,posix,sysv,cma"])


def mpich(program, ranks):
    return mpirun("mpich", program, ranks), TUNED


def gloo(program, ranks):
    return [program, ranks], {}


# (name, compiler, what else it needs, source, libraries, command, Debian packages)
PEERS = [
    ("Open MPI", "mpicc.openmpi", "mpirun.openmpi", "mpi.c", [], openMpi, "openmpi-bin libopenmpi-dev"),
    ("Open MPI/UCX", "mpicc.openmpi", "mpirun.openmpi", "mpi.c", [], openMpiUcx, "openmpi-bin libopenmpi-dev"),
    ("MPICH", "mpicc.mpich", "mpirun.mpich", "mpi.c", [], mpich, "mpich libmpich-dev"),
    ("Gloo", "c++", "c++", "Gloo.cpp", ["-std=c++20", "-lgloo", "-lpthread"], gloo, "libgloo-dev"),
]


def findPeers(folder):
    """(name, function ranks -> command and environment) of what is there, and why others are not."""
    found, missing, built = [], [], {}
    for name, compiler, other, source, libraries, command, packages in PEERS:
        if not shutil.which(compiler) or not shutil.which(other):
            missing.append("%s: not installed (%s)" % (name, packages))
            continue
        program = folder / (source + "." + compiler)
        line = [compiler, "-O2", str(HERE / source), "-o", str(program), *libraries]
        if program not in built:
            built[program] = subprocess.run(line, capture_output=True, check=False).returncode
        if built[program] != 0:
            missing.append("%s: %s does not compile with %s (%s)" % (name, source, compiler, packages))
            continue
        found.append((name, lambda ranks, p=program, c=command: c(p, ranks)))
    return found, missing


def measure(command, environment, table, name):
    """Adds a program's lines to table[(name, ranks, bytes)][library]; whether it ended well."""
    try:
        result = subprocess.run([str(c) for c in command], env={**os.environ, **environment}, text=True,
                                stdout=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    if result.returncode != 0:
        return False
    for line in result.stdout.splitlines():
        operation, ranks, size, us = line.split(",")
        table[operation, int(ranks), int(size)][name].append(float(us))
    return True


def collect(folder, ranksList, sizes, rounds):
    """Medians by (operation, ranks, bytes) and program, the peers' names, and what is left out with the reason."""
    print("load average before: %.1f on %d processors" % (os.getloadavg()[0], os.cpu_count() or 1))
    ours = buildOurs(folder)
    peers, missing = findPeers(folder)
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    for ranks in ranksList:
        tail = [BATCHES, "all" if ranks <= MANY_RANKS else "allreduce"] + sizes
        for number in range(rounds):
            print("%d ranks, round %d of %d" % (ranks, number + 1, rounds), flush=True)
            if not measure([ours, ranks] + tail, {}, samples, OURS):
                raise SystemExit("bench: our own program failed at %d ranks" % ranks)
            for name, command in list(peers):
                line, environment = command(ranks)
                if not measure(line + tail, environment, samples, name):
                    missing.append("%s: failed at %d ranks: %s" % (name, ranks, " ".join(map(str, line))))
                    peers.remove((name, command))
    medians = {key: {name: statistics.median(values) for name, values in row.items()}
               for key, row in samples.items()}
    return medians, [name for name, _ in peers], missing


def memoryOf(program, ranks=8):
    """Bytes of rings and scratch of all ranks together, as the runtime says them, once it has run all collectives."""
    result = subprocess.run([str(program), str(ranks), "1", "all", "64", str(1 << 20)], text=True, check=True,
                            env={**os.environ, "COLL_DEBUG": "INFO"}, capture_output=True)
    most = {}
    for rank, rings, scratch in re.findall(r"rank (\d+) of .* (\d+) KiB of rings .* (\d+) KiB of scratch",
                                           result.stdout + result.stderr):
        most[rank] = max(most.get(rank, 0), int(rings) + int(scratch))
    return sum(most.values()) * 1024 if len(most) == ranks else None


def instructionsOf(program):
    """Instructions of one all-reduce of 8 bytes on one rank, all of the call: the same in every run."""
    if not shutil.which("valgrind"):
        return None
    counts = []
    for calls in (1000, 2000):
        result = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program),
                                 "--calls", str(calls)], text=True, capture_output=True, check=False)
        found = re.search(r"Collected : (\d+)", result.stderr)
        if not found:
            return None
        counts.append(int(found.group(1)))
    return (counts[1] - counts[0]) / 1000


def bytesMoved(ranks=2, size=64 << 20):
    """(read, written) by a rank in an all-reduce of `size` bytes, in multiples of it, as the kernels count them."""
    result = run([ROOT / "build" / "bin" / "coll-run", ROOT / "examples" / "ring.coll", "--ranks", ranks, "-b", size,
                  "-e", size, "-n", 1, "-w", 0, "--count-bytes"], capture_output=True)
    found = re.search(r"read \d+ bytes \(([\d.]+) of the size\), wrote \d+ \(([\d.]+)\)", result.stdout)
    return tuple(map(float, found.groups())) if found else None


def rowsOf(medians, peers):
    """One row per operation, rank count and size, with its floor."""
    rows = []
    for (operation, ranks, size), times in sorted(medians.items(), key=lambda i: (i[0][1], i[0][0], i[0][2])):
        if operation in FLOORS:
            continue
        floor = next((medians[f, ranks, size][OURS] for f in FLOORS if (f, ranks, size) in medians), None)
        # Others have no memory of their own to offer, so theirs is compared with what they have.
        theirs = medians.get((operation.split(":")[0], ranks, size), {}) if operation.endswith(":registered") else times
        best = min((theirs[p] for p in peers if p in theirs), default=None)
        rows.append({"operation": operation, "ranks": ranks, "bytes": size, "us": times[OURS],
                     "GB/s": size / times[OURS] / 1e3, "floor_us": floor,
                     "ratio": best / times[OURS] if best else None,
                     **{p: theirs.get(p) for p in peers}})
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
    header = "%10s %10s %9s %10s" % ("bytes", "us", "GB/s", "floor us") + "".join(" %12s" % p for p in peers)
    for (ranks, operation), group in groups(rows).items():
        print("\n%s, %d ranks" % (operation, ranks))
        print(header + ("  best peer / ours" if peers else ""))
        for r in group:
            line = "%10d %10.2f %9.2f %10.2f" % (r["bytes"], r["us"], r["GB/s"], r["floor_us"] or 0)
            line += "".join(" %12.2f" % r[p] if r[p] else " %12s" % "-" for p in peers)
            print(line + ("  %8.2f" % r["ratio"] if r["ratio"] else ""))
        alpha, beta, residual = fit(group)
        print("T = %.2f us + bytes / %.2f GB/s, off by %.0f %%"
              % (alpha, 1e-3 / beta if beta > 0 else float("inf"), 100 * residual))
    print()
    for name in missing:
        print("not compared: " + name)


def counted(program):
    """What is the same in every run, as sentences."""
    instructions, moved = instructionsOf(program), bytesMoved()
    lines = ["instructions of an all-reduce of 8 B on one rank, all of the call: "
             + ("%.0f" % instructions if instructions else "not counted (valgrind)")]
    if moved:
        lines.append("ring all-reduce at 2 ranks, bytes read and written by a rank: %.4f and %.4f of the size" % moved)
    return lines


# What the page shows; its tables have all.
PICTURED = [("allreduce", 2), ("allreduce:registered", 2), ("broadcast", 2), ("allgather", 2), ("allreduce", 4),
            ("allreduce", 8)]


def main(ranksList, sizes, folder, csvFile=None, jsonFile=None, svgFile=None, isQuick=False, pageFile=None):
    medians, peers, missing = collect(pathlib.Path(folder), ranksList, sizes, QUICK_ROUNDS if isQuick else ROUNDS)
    rows = rowsOf(medians, peers)
    printTable(rows, peers, missing)
    program = pathlib.Path(folder) / "ours"
    countedLines, verdicts = counted(program), targets.verdicts(rows, memoryOf(program))
    print("\ncounted, the same in every run:\n  " + "\n  ".join(countedLines))
    print("\n" + targets.table(verdicts))
    if csvFile:
        with open(csvFile, "w", encoding="utf-8") as file:
            file.write(",".join(rows[0]) + "\n")
            for row in rows:
                file.write(",".join("" if v is None else str(v) for v in row.values()) + "\n")
    if jsonFile:
        pathlib.Path(jsonFile).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if svgFile:
        plot.write(rows, [OURS] + peers, fit, svgFile)
    if pageFile:
        pageFile = pathlib.Path(pageFile)
        picture = pathlib.Path("images") / (pageFile.stem.lower() + ".svg")
        (pageFile.parent / picture.parent).mkdir(exist_ok=True)
        plot.write(rows, [OURS] + peers, fit, pageFile.parent / picture, PICTURED)
        page.write(pageFile, picture, os.cpu_count() or 1, verdicts, groups(rows), peers, missing, countedLines, fit,
                   targets.unit)
    return 0
