# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills a process of a coll-run that would last for hours, and looks what becomes of it.

usage: kill.py rank|barrier|stopped|parent FILE.coll

rank:    SIGKILL to rank 1 while the ranks launch
barrier: the same while they wait for coll-run, which is stopped meanwhile
stopped: the same while rank 2 is stopped, which cannot end by itself
parent:  SIGKILL to coll-run: its ranks go, too
"""

import os
import re
import signal
import subprocess
import sys
import time

RANKS = 3
# Far more than it takes, so that a busy machine is no failure; a hang is.
PATIENCE = 60


def statOf(pid):
    """The fields of /proc/PID/stat from the state on; empty: no such process."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def childrenOf(pid):
    """In the order in which they were forked: that of the ranks."""
    processes = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return [p for p in processes if statOf(p)[1:2] == [str(pid)]]


def isAlive(pid):
    return statOf(pid)[:1] not in ([], ["Z"], ["X"])


def cpuTicks(pid):
    return sum(map(int, statOf(pid)[11:13]))


def waitFor(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def main(how, path):
    command = ["coll-run", path, "--ranks", str(RANKS)]
    if how == "barrier":  # rows enough that it is not done before it is stopped
        command += ["-b", "8", "-e", "64M", "-f", "2", "-n", "100"]
    else:
        command += ["--counts", "100000", "-n", "1000000000"]
    ranks = []
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        waitFor(lambda: len(childrenOf(job.pid)) == RANKS, "the ranks do not start")
        ranks = childrenOf(job.pid)
        if how == "barrier":
            os.kill(job.pid, signal.SIGSTOP)
            time.sleep(1)  # most likely enough; a rank that is late says what it saw
        else:
            # Until all of them launch: they compute, where they waited for each other.
            waitFor(lambda: all(cpuTicks(rank) > 20 for rank in ranks), "the ranks do not run")
        if how == "stopped":
            os.kill(ranks[2], signal.SIGSTOP)
        os.kill(job.pid if how == "parent" else ranks[1], signal.SIGKILL)
        if how == "barrier":
            os.kill(job.pid, signal.SIGCONT)
        _, errors = job.communicate(timeout=PATIENCE)
        waitFor(lambda: not any(map(isAlive, ranks)), "ranks are left")
    finally:
        for pid in ranks + ([job.pid] if job.poll() is None else []):
            if isAlive(pid):
                os.kill(pid, signal.SIGKILL)
    if how == "parent":
        return
    assert job.returncode == 1, (job.returncode, errors)
    assert "rank 1: killed by signal 9" in errors, errors
    if how == "barrier":
        silent = re.search(r"note: and (\d) others? stopped", errors)
        spoke = re.findall(r"error: rank [02]: (?!ended with)", errors)
        assert len(spoke) + int(silent[1] if silent else 0) == 2, errors
        return
    assert "rank 0: launch: a rank is gone: rank 1 " in errors, errors


main(*sys.argv[1:])
