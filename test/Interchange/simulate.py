# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a schedule in the XML of MSCCL does, found by brute force: every question is
answered in the plainest way there is, with nothing of the compiler.

    simulate.py FILE    prints what is found of each variant

Memory holds bags: how often the initial content of which chunk is in a location.
Steps are nodes of a graph; whether two accesses are ordered is whether one node is
reachable from the other, looked up in the transitive closure. The depth of channels
is found by trying 1, 2, 3, ...
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict

RECEIVES = {"r", "rcs", "rrc", "rrs", "rrcs"}
SENDS = {"s", "rcs", "rrs", "rrcs"}
READS = {"s", "cpy", "re", "rrc", "rrs", "rrcs"}  # the location at src
WRITES = {"r", "rcs", "rrc", "rrcs", "cpy", "re"}  # the location at dst


class Node:
    """A step of a thread block of a rank."""

    def __init__(self, rank, block, index, element, send, recv, channel):
        self.rank, self.block, self.index = rank, block, index
        self.kind = element.get("type")
        self.src = (element.get("srcbuf"), int(element.get("srcoff")))
        self.dst = (element.get("dstbuf"), int(element.get("dstoff")))
        self.count = int(element.get("cnt"))
        self.dep = (int(element.get("depid")), int(element.get("deps")))
        self.flag = element.get("hasdep") == "1"
        self.out = (rank, send, channel) if self.kind in SENDS else None
        self.into = (recv, rank, channel) if self.kind in RECEIVES else None
        self.waits = None  # the node whose flag it waits for
        self.sender = None  # the node whose message it receives


class File:
    def __init__(self, path):
        root = ElementTree.parse(path).getroot()
        self.coll = root.get("coll").replace("reducescatter", "reduce_scatter")
        self.chunks = int(root.get("nchunksperloop"))
        self.ranks = int(root.get("ngpus"))
        self.in_place = root.get("inplace") == "1"
        default = "0" if self.in_place else "1"
        self.out_of_place = root.get("outofplace", default) == "1" or not self.in_place
        self.blocks = {}  # (rank, block): nodes
        self.copies = []  # (rank, from, to)
        self.shared = False
        ends = set()
        for gpu in root:
            rank = int(gpu.get("id"))
            self.copies += [(rank, int(c.get("i_off")), int(c.get("o_off"))) for c in gpu.iter("copy")]
            for tb in gpu.iter("tb"):
                send, recv, channel = (int(tb.get(key)) for key in ("send", "recv", "chan"))
                for end in ([("s", rank, send, channel)] if send >= 0 else []) + (
                        [("r", rank, recv, channel)] if recv >= 0 else []):
                    self.shared |= end in ends
                    ends.add(end)
                key = (rank, int(tb.get("id")))
                self.blocks[key] = [Node(*key, i, e, send, recv, channel) for i, e in enumerate(tb.iter("step"))]
        self.nodes = [node for nodes in self.blocks.values() for node in nodes]


def resolve(file):
    """Finds flags and senders. False: somebody waits for what does not exist."""
    sent, received = defaultdict(list), defaultdict(list)
    for node in file.nodes:
        if node.out:
            sent[node.out].append(node)
        if node.into:
            received[node.into].append(node)
        if node.dep != (-1, -1):
            later = file.blocks[(node.rank, node.dep[0])][node.dep[1]:]
            node.waits = next((other for other in later if other.flag), None)
            if not node.waits:
                return False
    for channel in set(sent) | set(received):
        if [n.count for n in sent[channel]] != [n.count for n in received[channel]]:
            return False
        for sender, receiver in zip(sent[channel], received[channel]):
            receiver.sender = sender
    return True


def execute(file, depth):
    """The order of one run with channels of so many messages; None: it gets stuck."""
    position = dict.fromkeys(file.blocks, 0)
    done, fill, order = set(), Counter(), []
    moved = True
    while moved:
        moved = False
        for key, nodes in file.blocks.items():
            while position[key] < len(nodes):
                node = nodes[position[key]]
                if node.waits and node.waits not in done:
                    break
                if node.into and not fill[node.into]:
                    break
                if node.out and fill[node.out] >= depth:
                    break
                if node.into:
                    fill[node.into] -= 1
                if node.out:
                    fill[node.out] += 1
                done.add(node)
                order.append(node)
                position[key] += 1
                moved = True
    return order if len(order) == len(file.nodes) else None


def leastDepth(file):
    for depth in range(1, len(file.nodes) + 2):
        if execute(file, depth):
            return depth
    return None


def shape(file):
    """Chunks of the input and the output of a rank."""
    each = file.chunks // file.ranks
    return {"allgather": (each, file.chunks), "reduce_scatter": (file.chunks, each)}.get(
        file.coll, (file.chunks, file.chunks))


def place(file, in_place, rank, where, offset):
    """A location as memory has it: in place, i and o are names for one buffer."""
    if where == "s" or not in_place:
        return (rank, where, offset)
    ins, outs = shape(file)
    if where == "i" and file.coll == "allgather":
        offset += rank * ins
    if where == "o" and file.coll == "reduce_scatter":
        offset += rank * outs
    return (rank, "io", offset)


def accesses(file, in_place, node):
    """(location, is it written), of every chunk."""
    for i in range(node.count):
        if node.kind in READS:
            yield place(file, in_place, node.rank, node.src[0], node.src[1] + i), False
        if node.kind in WRITES:
            yield place(file, in_place, node.rank, node.dst[0], node.dst[1] + i), True


def hasRace(file, in_place, order):
    number = {node: i for i, node in enumerate(order)}
    before = [0] * len(order)  # bit j of before[i]: j comes before i
    for i, node in enumerate(order):
        causes = [node.waits, node.sender]
        if node.index:
            causes.append(file.blocks[(node.rank, node.block)][node.index - 1])
        for cause in causes:
            if cause:
                before[i] |= before[number[cause]] | 1 << number[cause]
    touched = defaultdict(list)
    for i, node in enumerate(order):
        for location, written in accesses(file, in_place, node):
            for j, other_written in touched[location]:
                if (written or other_written) and order[j].block != node.block and not before[i] >> j & 1:
                    return True
            touched[location].append((i, written))
    return False


def finalMemory(file, in_place, order, copies):
    memory = {}

    def read(location):
        return memory.setdefault(location, Counter({("garbage",) + location: 1}))

    ins, _ = shape(file)
    for rank in range(file.ranks):
        for chunk in range(ins):
            memory[place(file, in_place, rank, "i", chunk)] = Counter({(rank, chunk): 1})
    for rank, source, target in file.copies if copies else []:
        memory[place(file, in_place, rank, "o", target)] = read(place(file, in_place, rank, "i", source))
    fifo = defaultdict(list)
    for node in order:
        incoming = fifo[node.into].pop(0) if node.into else None
        outgoing = []
        for i in range(node.count):
            source = place(file, in_place, node.rank, node.src[0], node.src[1] + i)
            target = place(file, in_place, node.rank, node.dst[0], node.dst[1] + i)
            value = {
                "s": lambda: read(source),
                "cpy": lambda: read(source),
                "re": lambda: read(target) + read(source),
                "r": lambda: incoming[i],
                "rcs": lambda: incoming[i],
                "nop": lambda: None,
            }.get(node.kind, lambda: read(source) + incoming[i])()
            if node.kind in WRITES:
                memory[target] = value
            outgoing.append(value)
        if node.out:
            fifo[node.out].append(outgoing)
    return lambda rank, chunk: read(place(file, in_place, rank, "o", chunk))


def isRight(file, holds):
    """Whether some root makes the outputs what they have to be."""
    ranks, (ins, outs) = range(file.ranks), shape(file)
    each = file.chunks // file.ranks
    everywhere = {
        "allreduce": lambda rank, chunk: Counter({(r, chunk): 1 for r in ranks}),
        "allgather": lambda rank, chunk: Counter({(chunk // ins, chunk % ins): 1}),
        "reduce_scatter": lambda rank, chunk: Counter({(r, rank * outs + chunk): 1 for r in ranks}),
        "alltoall": lambda rank, chunk: Counter({(chunk // each, rank * each + chunk % each): 1}),
    }
    if file.coll in everywhere:
        return all(holds(r, c) == everywhere[file.coll](r, c) for r in ranks for c in range(outs))
    if file.coll == "broadcast":
        return any(all(holds(r, c) == Counter({(root, c): 1}) for r in ranks for c in range(outs)) for root in ranks)
    return any(all(holds(root, c) == Counter({(r, c): 1 for r in ranks}) for c in range(outs)) for root in ranks)


def judge(file, in_place):
    """(the contracts that may be said, the depth or None if it is not looked for,
    races or None)."""
    if file.shared:
        return {"undefined-shared-connection"}, None, None
    if not resolve(file):
        return {"not-finished"}, None, None
    depth = leastDepth(file)
    if depth is None:
        return {"not-finished"}, "none", None
    order = execute(file, depth)
    race = hasRace(file, in_place, order)
    if not in_place and any(n.kind in WRITES and n.dst[0] == "i" for n in file.nodes):
        # What is noticed first is up to the order of a run.
        return {"wrong"} | ({"undefined-race"} if race else set()), str(depth), None
    if race:
        return {"undefined-race"}, str(depth), "yes"
    if isRight(file, finalMemory(file, in_place, order, False)):
        return {"right"}, str(depth), "no"
    if file.copies and isRight(file, finalMemory(file, in_place, order, True)):
        return {"right-only-with-copy-elements"}, str(depth), "no"
    return {"wrong"}, str(depth), "no"


def judgeFile(path):
    file = File(path)
    return {name: judge(file, in_place) for name, in_place, allowed in (
        ("in place", True, file.in_place), ("out of place", False, file.out_of_place)) if allowed}


if __name__ == "__main__":
    for variant, found in judgeFile(sys.argv[1]).items():
        print(variant, *found)
