# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what colc says of generated files with what a simulation finds
(simulate.py): right ones of every family, and ones that a single change at random may
have made wrong; which, the simulation decides.

    random_files.py COLC DIR --files N [--seed S] [--ranks MOST] [--channels MOST] [--run COLL_RUN]

Every fourth file is unchanged. --run also runs the first right ones.
"""

import argparse
import os
import random
import re
import resource
import subprocess
import sys
from collections import Counter

from generate_families import FAMILIES, generate
from simulate import judgeFile

LINE = re.compile(r"(in place|out of place)(?:, root \d+)?: contract ([\w-]+)(?:, depth (\w+))?(?:, races (\w+))?$", re.M)


def forget(algo, step):
    """Nobody waits for the step any more."""
    for _, other in algo.every():
        if other.dep and other.dep[1] is step:
            other.dep = None


def pick(rng, algo, test=lambda block, step: True):
    found = [at for at in algo.every() if at[1].kind != "nop" and test(*at)]
    return rng.choice(found) if found else None


def bounds(algo, where):
    return {"i": algo.ins, "o": algo.outs, "s": algo.scratch}[where]


# Each change returns whether there was a place for it.


def dropWait(rng, algo):
    at = pick(rng, algo, lambda block, step: step.dep)
    if at:
        at[1].dep = None
    return at


def moveWait(rng, algo):
    at = pick(rng, algo, lambda block, step: step.dep and len(step.dep[0].steps) > 1)
    if at:
        block = at[1].dep[0]
        at[1].dep = block, rng.choice(block.steps)
    return at


def dropFlag(rng, algo):
    at = pick(rng, algo, lambda block, step: step.hasdep)
    if at:
        at[1].hasdep = False
    return at


def addFlag(rng, algo):
    at = pick(rng, algo, lambda block, step: not step.hasdep)
    if at:
        at[1].hasdep = True
    return at


def shift(side):
    def change(rng, algo):
        at = pick(rng, algo)
        where, offset = getattr(at[1], side)
        most = bounds(algo, where) - at[1].count
        if most > 0:
            setattr(at[1], side, (where, (offset + rng.randrange(1, most + 1)) % (most + 1)))
        return most > 0
    change.__name__ = "shift_" + side
    return change


def otherBuffer(rng, algo):
    at = pick(rng, algo)
    side = rng.choice(["src", "dst"])
    offset = getattr(at[1], side)[1]
    fitting = [b for b in "ios" if offset + at[1].count <= bounds(algo, b)]
    if fitting:
        setattr(at[1], side, (rng.choice(fitting), offset))
    return fitting


def otherKind(rng, algo):
    groups = [["r", "rrc"], ["rcs", "rrcs", "rrs"], ["cpy", "re"]]
    at = pick(rng, algo, lambda block, step: step.kind != "s")
    if at:
        group = next(group for group in groups if at[1].kind in group)
        at[1].kind = rng.choice([kind for kind in group if kind != at[1].kind])
    return at


def dropStep(rng, algo):
    at = pick(rng, algo)
    forget(algo, at[1])
    at[0].steps.remove(at[1])
    return True


def swapSteps(rng, algo):
    at = pick(rng, algo, lambda block, step: block.steps[-1] is not step)
    if at:
        steps = at[0].steps
        i = steps.index(at[1])
        steps[i], steps[i + 1] = steps[i + 1], steps[i]
    return at


def copyStep(rng, algo):
    at = pick(rng, algo)
    block, step = at
    again = type(step)(step.kind, step.src, step.dst, step.count)
    again.hasdep = step.hasdep
    block.steps.insert(block.steps.index(step) + 1, again)
    return True


def dropMessage(rng, algo):
    """The k-th message of a connection is neither sent nor received."""
    at = pick(rng, algo, lambda block, step: step.kind == "s")
    if not at:
        return None
    block, step = at
    index = [s for s in block.steps if s.kind in ("s", "rcs", "rrs", "rrcs")].index(step)
    for other in algo.blocks[block.send]:
        if other.recv == block.rank and other.channel == block.channel:
            received = [s for s in other.steps if s.kind in ("r", "rrc", "rcs", "rrs", "rrcs")]
            if index < len(received) and received[index].kind in ("r", "rrc"):
                for owner, gone in ((block, step), (other, received[index])):
                    forget(algo, gone)
                    owner.steps.remove(gone)
                return True
    return None


def otherChannel(rng, algo):
    block = rng.choice([block for blocks in algo.blocks for block in blocks])
    block.channel += 1
    return True


def otherPeer(rng, algo):
    block = rng.choice([b for blocks in algo.blocks for b in blocks if b.send >= 0])
    peers = [r for r in range(algo.ranks) if r not in (block.rank, block.send)]
    if peers:
        block.send = rng.choice(peers)
    return peers


def otherCount(rng, algo):
    at = pick(rng, algo)
    if at:
        at[1].count += 1
        for side in ("src", "dst"):
            where, offset = getattr(at[1], side)
            if offset + at[1].count > bounds(algo, where):
                at[1].count -= 1
                return None
    return at


CHANGES = [dropWait, moveWait, dropFlag, addFlag, shift("src"), shift("dst"), otherBuffer, otherKind, dropStep,
           swapSteps, copyStep, dropMessage, otherChannel, otherPeer, otherCount]


def compare(path, result):
    """What is wrong with what colc says."""
    expected = judgeFile(path)
    said = {line[0]: line[1:] for line in LINE.findall(result.stdout)}
    if set(said) != set(expected):
        return ["judges %s, not %s: %s" % (sorted(said), sorted(expected), result.stderr[:200])], expected
    errors = []
    for variant, (contracts, depth, races) in expected.items():
        contract, found_depth, found_races = said[variant]
        if contract not in contracts:
            errors.append("%s: %s, not %s" % (variant, contract, " or ".join(sorted(contracts))))
        elif depth and found_depth != depth and (depth != "none" or found_depth):
            errors.append("%s: depth %s, not %s" % (variant, found_depth, depth))
        elif races and found_races != races:
            errors.append("%s: races %s, not %s" % (variant, found_races, races))
    fine = {"right", "right-only-with-copy-elements"}
    if result.returncode == 0 and not all(contracts <= fine for contracts, _, _ in expected.values()):
        errors.append("exit status 0")
    return errors, expected


def make(seed, most_ranks, most_channels):
    """A file, and the name of what was changed in it."""
    rng = random.Random(seed)
    ranks = rng.randrange(2, most_ranks + 1)
    channels = rng.randrange(1, most_channels + 1)
    algo = generate(rng, ranks, channels, FAMILIES[seed % len(FAMILIES)])
    if seed // len(FAMILIES) % 4 == 0:
        return algo, "nothing"
    for _ in range(20):
        change = rng.choice(CHANGES)
        if change(rng, algo):
            return algo, change.__name__
    return algo, "nothing"


def seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("colc")
    parser.add_argument("dir")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--run", default=None)
    parser.add_argument("--most-runs", type=int, default=8)
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    wrong, runs, slowest, verdicts = 0, 0, (0, ""), Counter()
    for seed in range(options.seed * 1000, options.seed * 1000 + options.files):
        algo, changed = make(seed, options.ranks, options.channels)
        algo.name = "%s_%d" % (algo.name, seed)
        path = os.path.join(options.dir, algo.name + ".xml")
        with open(path, "w") as file:
            file.write(algo.text())
        before = seconds()
        result = subprocess.run([options.colc, path, "--check"], capture_output=True, text=True)
        slowest = max(slowest, (seconds() - before, path))
        errors, expected = compare(path, result)
        verdicts.update(contract for contracts, _, _ in expected.values() for contract in contracts)
        if changed == "nothing" and not all(c <= {"right", "right-only-with-copy-elements"} for c, _, _ in expected.values()):
            errors.append("generated wrong")
        runnable = changed == "nothing" and algo.ranks <= 6 and len(algo.blocks[0]) <= 12
        # Beside <copy> elements groups of chunks are not made one, and may need too many slots.
        runnable &= not any(algo.copies) or all(step.count <= 1 for _, step in algo.every())
        if options.run and runnable and runs < options.most_runs:
            runs += 1
            run = subprocess.run([options.run, path, "--counts", "0,1,3,1021", "-w", "0", "-n", "1"],
                                 capture_output=True, text=True)
            if run.returncode != 0 or "Out of bounds values : 0 OK" not in run.stdout:
                errors.append("does not run: %s" % run.stderr[:300])
        for error in errors:
            print("%s (changed: %s): %s" % (path, changed, error))
        wrong += bool(errors)
    print("seed %d: %s" % (options.seed, ", ".join("%d %s" % (n, v) for v, n in verdicts.most_common())))
    print("slowest: %.3f s of CPU, %s" % slowest)
    if options.run:
        print("%d run" % runs)
    print("%d files, %s" % (options.files, "%d judged wrong" % wrong if wrong else "all judged as simulated"))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
