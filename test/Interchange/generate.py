# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes MSCCL XML of tree schedules placed by hand, right ones and wrong ones.

    generate.py DIR [--seeds N] [--ranks R] [--channels C]

Each channel has a tree of its own over all ranks and carries one chunk: up it
is reduced, down it is sent back. A rank has a thread block for each neighbour in
each tree, which sends to it and receives from it; they are ordered by depid. Of
every right file there are variants with one mistake. DIR/expected.json says what
a checker has to find in each.
"""

import argparse
import copy
import json
import os
import random


class Step:
    def __init__(self, kind, src, dst, count=1):
        self.kind, self.src, self.dst, self.count = kind, src, dst, count
        self.dep = None  # (block, step), both objects
        self.hasdep = False


class Block:
    def __init__(self, peer, channel):
        self.send = self.recv = peer
        self.channel = channel
        self.steps = []

    def add(self, kind, chunk, after=None):
        step = Step(kind, ("i", chunk), ("i", chunk))
        self.steps.append(step)
        if after and after[0] is not self:
            step.dep = after
            after[1].hasdep = True
        return self, step


class Schedule:
    def __init__(self, name, coll, ranks, channels):
        self.name, self.coll, self.ranks, self.channels = name, coll, ranks, channels
        self.blocks = [[] for _ in range(ranks)]

    def text(self):
        out = ['<algo name="%s" proto="Simple" nchannels="%d" nchunksperloop="%d" ngpus="%d" coll="%s" '
               'inplace="1" outofplace="0" minBytes="0" maxBytes="0">'
               % (self.name, self.channels, self.channels, self.ranks, self.coll)]
        for rank, blocks in enumerate(self.blocks):
            out.append('  <gpu id="%d" i_chunks="%d" o_chunks="%d" s_chunks="0">'
                       % (rank, self.channels, self.channels))
            for i, block in enumerate(blocks):
                out.append('    <tb id="%d" send="%d" recv="%d" chan="%d">'
                           % (i, block.send, block.recv, block.channel))
                for s, step in enumerate(block.steps):
                    out.append(self.step(blocks, s, step))
                out.append("    </tb>")
            out.append("  </gpu>")
        return "\n".join(out + ["</algo>", ""])

    def step(self, blocks, index, step):
        dep = (-1, -1)
        if step.dep:
            dep = blocks.index(step.dep[0]), step.dep[0].steps.index(step.dep[1])
        return ('      <step s="%d" type="%s" srcbuf="%s" srcoff="%d" dstbuf="%s" dstoff="%d" cnt="%d" '
                'depid="%d" deps="%d" hasdep="%d"/>'
                % (index, step.kind, *step.src, *step.dst, step.count, *dep, step.hasdep))


def tree(rng, ranks):
    """Parents of a random tree; the root has none. Every other one is binary."""
    order = list(range(ranks))
    rng.shuffle(order)
    parent = {order[0]: None}
    binary = rng.random() < 0.5
    for i, rank in enumerate(order[1:], 1):
        parent[rank] = order[(i - 1) // 2] if binary else order[rng.randrange(max(0, i - 3), i)]
    return parent


def addTree(schedule, channel, parent, up, down):
    """Reduces to the root, if up, and sends back, if down."""
    for rank in range(schedule.ranks):
        children = [r for r in parent if parent[r] == rank]
        blocks = {}
        for peer in children + ([parent[rank]] if parent[rank] is not None else []):
            blocks[peer] = Block(peer, channel)
            schedule.blocks[rank].append(blocks[peer])
        last = None
        if up:
            for child in children:
                last = blocks[child].add("rrc", channel, last)
        if parent[rank] is not None:
            above = blocks[parent[rank]]
            if up:
                last = above.add("s", channel, last)
            if down:
                last = above.add("r", channel, last)
        if down:
            for child in children:
                blocks[child].add("s", channel, last)


def right(seed, ranks, channels):
    rng = random.Random(seed)
    coll = ["allreduce", "reduce", "allreduce", "broadcast"][seed % 4]
    schedule = Schedule("tree%d" % seed, coll, ranks, channels)
    root = None
    for channel in range(channels):
        parent = tree(rng, ranks)
        if coll != "allreduce":  # one root for all channels: rename
            top = next(r for r in parent if parent[r] is None)
            root = top if root is None else root
            swap = {top: root, root: top}
            parent = {swap.get(r, r): swap.get(p, p) for r, p in parent.items()}
        addTree(schedule, channel, parent, coll != "broadcast", coll != "reduce")
    return schedule, rng


def everyStep(schedule):
    return [(rank, block, step) for rank, blocks in enumerate(schedule.blocks) for block in blocks
            for step in block.steps]


def pick(rng, schedule, test):
    found = [at for at in everyStep(schedule) if test(*at)]
    return rng.choice(found) if found else None


def partner(schedule, rank, block, step):
    """The step at the other end of a message, and its block."""
    sends = "s" == step.kind
    other = next(b for b in schedule.blocks[block.send]
                 if b.channel == block.channel and b.send == rank)
    index = [s for s in block.steps if (s.kind == "s") == sends].index(step)
    return other, [s for s in other.steps if (s.kind == "s") != sends][index]


# Each mistake changes a schedule and returns what has to be found: slugs, one of which
# has to be there, and contracts, one of which it has to be. None: there is no place for it.


def dropWait(rng, s):
    at = pick(rng, s, lambda rank, block, step: step.dep)
    at[2].dep = None
    return ["block-race"], ["undefined-race"]


def dropFlag(rng, s):
    at = pick(rng, s, lambda rank, block, step: step.dep)
    block, step = at[2].dep
    for later in block.steps[block.steps.index(step):]:
        later.hasdep = False
    return ["missing-hasdep"], ["not-finished"]


def receiveFirst(rng, s):
    at = pick(rng, s, lambda rank, block, step: len(block.steps) == 2 and block.steps[0].kind == "s")
    if not at:
        return None
    at[1].steps.reverse()
    return ["deadlock"], ["not-finished"]


def wrongPlace(rng, s):
    at = pick(rng, s, lambda rank, block, step: step.kind in ("rrc", "r"))
    step = at[2]
    step.dst = ("i", (step.dst[1] + 1) % s.channels)
    step.src = step.dst
    return ["block-race", "wrong-value", "missing-contribution", "double-contribution"], ["wrong", "undefined-race"]


def wrongSource(rng, s):
    at = pick(rng, s, lambda rank, block, step: step.kind == "s")
    step = at[2]
    step.src = ("i", (step.src[1] + 1) % s.channels)
    return ["block-race", "wrong-value", "missing-contribution", "unwritten-output"], ["wrong", "undefined-race"]


def copyNotReduce(rng, s):
    at = pick(rng, s, lambda rank, block, step: step.kind == "rrc")
    if not at:
        return None
    at[2].kind = "r"
    return ["missing-contribution"], ["wrong"]


def addTwice(rng, s):
    at = pick(rng, s, lambda rank, block, step: step.kind == "rrc")
    if not at:
        return None
    rank, block, step = at
    other, sent = partner(s, rank, block, step)
    for where, what in ((block, step), (other, sent)):
        again = copy.copy(what)
        again.dep, again.hasdep = None, what.hasdep
        where.steps.insert(where.steps.index(what) + 1, again)
        # Whoever waits for the first waits for the second.
        for _, _, waiter in everyStep(s):
            if waiter.dep and waiter.dep[1] is what:
                waiter.dep = (where, again)
    return ["double-contribution"], ["wrong"]


def dropReceive(rng, s):
    at = pick(rng, s, lambda rank, block, step: step.kind in ("r", "rrc") and not step.dep)
    rank, block, step = at
    step.kind, step.count = "cpy", 1
    return ["never-received"], ["not-finished"]


def countMismatch(rng, s):
    at = pick(rng, s, lambda rank, block, step: step.kind == "s" and step.src[1] + 1 < s.channels)
    at[2].count = 2
    return ["send-recv-count"], ["not-finished"]


def shareChannel(rng, s):
    at = None
    for rank, blocks in enumerate(s.blocks):
        for a in blocks:
            for b in blocks:
                if a is not b and a.send == b.send and a.channel != b.channel:
                    at = at or (a, b)
    if not at:
        return None
    at[1].channel = at[0].channel
    return ["send-peer-chan-shared"], ["undefined-shared-connection"]


MISTAKES = [dropWait, dropFlag, receiveFirst, wrongPlace, wrongSource, copyNotReduce, addTwice, dropReceive,
            countMismatch, shareChannel]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir")
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--channels", type=int, default=8)
    options = parser.parse_args()
    os.makedirs(options.dir)
    expected = {}

    def write(schedule, slugs, contracts):
        with open(os.path.join(options.dir, schedule.name + ".xml"), "w") as file:
            file.write(schedule.text())
        expected[schedule.name] = {"slugs": slugs, "contracts": contracts}

    for seed in range(options.seeds):
        schedule, _ = right(seed, options.ranks, options.channels)
        write(schedule, [], ["right"])
        for mistake in MISTAKES:
            schedule, rng = right(seed, options.ranks, options.channels)
            result = mistake(rng, schedule)
            if result is None:  # no place for it: the file stays right
                result = [], ["right"]
            schedule.name += "-" + mistake.__name__
            write(schedule, *result)
    with open(os.path.join(options.dir, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1)


if __name__ == "__main__":
    main()
