# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Right schedules of many kinds, as such files are written by people and generators:
rings, trees, double trees, all pairs, two levels; in place and out of place, with
fused steps and with plain ones, in instances, in three dialects."""

from xml_model import Algo, Step


def permutation(rng, ranks):
    order = list(range(ranks))
    rng.shuffle(order)
    return order


def ringBlocks(algo, rng, channel):
    """(position in the ring, block) of every rank."""
    order = permutation(rng, algo.ranks)
    for p, rank in enumerate(order):
        yield p, algo.block(rank, order[(p + 1) % algo.ranks], order[p - 1], channel)


def ringAllreduce(rng, ranks, channels):
    algo = Algo("ring", "allreduce", ranks, ranks * channels, ranks * channels, ranks * channels)
    algo.in_place, algo.out_of_place = rng.choice([(True, False), (False, True), (True, True)])
    to = "o" if algo.out_of_place else "i"
    fused = rng.random() < 0.7
    for channel in range(channels):
        for p, block in ringBlocks(algo, rng, channel):
            def chunk(back):
                return (p - back) % ranks + channel * ranks
            block.add("s", ("i", chunk(0)))
            for back in range(1, ranks - 1):
                if fused:
                    block.add("rrs", ("i", chunk(back)))
                else:
                    block.add("rrc", ("i", chunk(back)), (to, chunk(back)))
                    block.add("s", (to, chunk(back)))
            if fused:
                block.add("rrcs", ("i", chunk(ranks - 1)), (to, chunk(ranks - 1)))
            else:
                block.add("rrc", ("i", chunk(ranks - 1)), (to, chunk(ranks - 1)))
                block.add("s", (to, chunk(ranks - 1)))
            for back in range(ranks - 2):
                if fused:
                    block.add("rcs", (to, chunk(back)))
                else:
                    block.add("r", (to, chunk(back)))
                    block.add("s", (to, chunk(back)))
            block.add("r", (to, chunk(ranks - 2)))
    return algo


def ringAllgather(rng, ranks, channels):
    algo = Algo("gather", "allgather", ranks, ranks * channels, channels, ranks * channels)
    algo.in_place = rng.random() < 0.5
    algo.out_of_place = not algo.in_place
    count = rng.choice([1, channels])  # one ring for all chunks, or one each
    for channel in range(channels // count):
        order = permutation(rng, ranks)
        for p, rank in enumerate(order):
            block = algo.block(rank, order[(p + 1) % ranks], order[p - 1], channel)
            own = rank * channels + channel
            if algo.out_of_place and rng.random() < 0.5:
                block.add("cpy", ("i", channel), ("o", own), count)
            elif algo.out_of_place:
                algo.block(rank, channel=channel).add("cpy", ("i", channel), ("o", own), count)
            block.add("s", ("i", channel), ("o", own), count)
            for back in range(1, ranks):
                at = ("o", order[(p - back) % ranks] * channels + channel)
                block.add("rcs" if back + 1 < ranks else "r", at, at, count)
    return algo


def ringReduceScatter(rng, ranks, channels):
    algo = Algo("scatter", "reduce_scatter", ranks, ranks * channels, ranks * channels, channels)
    algo.in_place = rng.random() < 0.5
    algo.out_of_place = not algo.in_place
    for channel in range(channels):
        order = permutation(rng, ranks)
        for p, rank in enumerate(order):
            block = algo.block(rank, order[(p + 1) % ranks], order[p - 1], channel)

            def chunk(back):
                return order[(p - back) % ranks] * channels + channel
            block.add("s", ("i", chunk(1)))
            for back in range(2, ranks):
                block.add("rrs", ("i", chunk(back)))
            block.add("rrc", ("i", chunk(0)), ("o", channel))
    return algo


def parents(rng, ranks):
    """Of a random tree; the root has none."""
    order = permutation(rng, ranks)
    parent = {order[0]: None}
    binary = rng.random() < 0.5
    for i, rank in enumerate(order[1:], 1):
        parent[rank] = order[(i - 1) // 2] if binary else order[rng.randrange(max(0, i - 3), i)]
    return parent


def addTree(algo, channel, parent, first, count, up=True, down=True):
    """Chunks [first, first + count) are summed in the root, and sent back. A rank has
    a thread block for each neighbour."""
    for rank in range(algo.ranks):
        children = [r for r in parent if parent[r] == rank]
        peers = children + ([parent[rank]] if parent[rank] is not None else [])
        blocks = {peer: algo.block(rank, peer, peer, channel) for peer in peers}
        last = None
        for child in children if up else []:
            last = blocks[child].add("rrc", ("i", first), count=count, after=[last])
        if parent[rank] is not None:
            if up:
                last = blocks[parent[rank]].add("s", ("i", first), count=count, after=[last])
            if down:
                last = blocks[parent[rank]].add("r", ("i", first), count=count, after=[last])
        for child in children if down else []:
            blocks[child].add("s", ("i", first), count=count, after=[last])


def trees(rng, ranks, channels):
    coll = rng.choice(["allreduce", "allreduce", "reduce", "broadcast"])
    algo = Algo("tree", coll, ranks, channels, channels, channels)
    root = rng.randrange(ranks)
    for channel in range(channels):
        parent = parents(rng, ranks)
        if coll != "allreduce":  # one root for all channels: rename
            top = next(r for r in parent if parent[r] is None)
            swap = {top: root, root: top}
            parent = {swap.get(r, r): swap.get(p, p) for r, p in parent.items()}
        addTree(algo, channel, parent, channel, 1, coll != "broadcast", coll != "reduce")
    return algo


def doubleTree(rng, ranks, channels):
    """Every other channel has the tree in which ranks are renamed, so that leaves
    become inner nodes."""
    count = rng.choice([1, 2])
    algo = Algo("double", "allreduce", ranks, channels * count, channels * count, channels * count)
    parent = {r: None if r == 0 else (r - 1) // 2 for r in range(ranks)}
    for channel in range(channels):
        mirror = {r: ranks - 1 - r if channel % 2 else r for r in range(ranks)}
        turned = {mirror[r]: None if p is None else mirror[p] for r, p in parent.items()}
        addTree(algo, channel, turned, channel * count, count)
    return algo


def allPairsAllreduce(rng, ranks, channels):
    """Rank q sums chunk q of every channel: all send it theirs, which it keeps in
    scratch; a block adds them and the blocks of the peers send the sum back."""
    algo = Algo("pairs", "allreduce", ranks, ranks * channels, ranks * channels, ranks * channels,
                (ranks - 1) * channels)
    for channel in range(channels):
        for rank in range(ranks):
            own = channel * ranks + rank
            peers = [r for r in range(ranks) if r != rank]
            blocks = {peer: algo.block(rank, peer, peer, channel) for peer in peers}
            came = []
            for slot, peer in enumerate(peers):
                blocks[peer].add("s", ("i", channel * ranks + peer))
                came.append(blocks[peer].add("r", ("s", channel * (ranks - 1) + slot)))
            adder = algo.block(rank, channel=channel)
            for slot in range(ranks - 1):
                after = came if slot == 0 else []
                summed = adder.add("re", ("s", channel * (ranks - 1) + slot), ("i", own), after=after)
            for peer in peers:
                blocks[peer].add("s", ("i", own), after=[summed])
                blocks[peer].add("r", ("i", channel * ranks + peer))
    return algo


def allPairsMove(rng, ranks, channels):
    coll = rng.choice(["allgather", "alltoall"])
    ins = channels if coll == "allgather" else ranks * channels
    algo = Algo("direct", coll, ranks, ranks * channels, ins, ranks * channels)
    algo.in_place, algo.out_of_place = False, True
    for rank in range(ranks):
        first = rank * channels if coll == "alltoall" else 0
        algo.block(rank).add("cpy", ("i", first), ("o", rank * channels), channels)
        for peer in range(ranks):
            if peer == rank:
                continue
            for channel in range(channels):
                block = algo.block(rank, peer, peer, channel)
                source = peer * channels + channel if coll == "alltoall" else channel
                block.add("s", ("i", source), ("o", rank * channels + channel))
                block.add("r", ("o", peer * channels + channel))
    return algo


def twoLevels(rng, ranks, channels):
    """Nodes of `size` ranks: sums to the first of each, a ring among those, and back.
    The messages within a node have as many chunks as there are nodes."""
    sizes = [d for d in range(2, ranks) if ranks % d == 0]
    if not sizes:
        return doubleTree(rng, ranks, channels)
    size = rng.choice(sizes)
    nodes = ranks // size
    algo = Algo("levels", "allreduce", ranks, nodes * channels, nodes * channels, nodes * channels)
    for channel in range(channels):
        base = channel * nodes
        for leader in range(0, ranks, size):
            members = range(leader + 1, leader + size)
            blocks = [algo.block(leader, member, member, channel) for member in members]
            last = None
            for block in blocks:
                last = block.add("rrc", ("i", base), count=nodes, after=[last])
            node = leader // size
            ring = algo.block(leader, (leader + size) % ranks, (leader - size) % ranks, channel)

            def at(back):
                return ("i", base + (node - back) % nodes)
            last = ring.add("s", at(0), after=[last])
            for back in range(1, nodes - 1):
                last = ring.add("rrs", at(back))
            last = ring.add("rrcs", at(nodes - 1))
            for back in range(nodes - 2):
                last = ring.add("rcs", at(back))
            last = ring.add("r", at(nodes - 2))
            for block in blocks:
                block.add("s", ("i", base), count=nodes, after=[last])
            for member in members:
                block = algo.block(member, leader, leader, channel)
                block.add("s", ("i", base), count=nodes)
                block.add("r", ("i", base), count=nodes)
    return algo


def replicate(algo, times):
    """Instances, as msccl-tools makes them: index' = index * times + i of inputs and
    outputs, copies of everything else."""
    if times == 1 or any(step.count > 1 for _, step in algo.every()):
        return algo
    channels = 1 + max(block.channel for blocks in algo.blocks for block in blocks)
    result = Algo(algo.name, algo.coll, algo.ranks, algo.chunks * times, algo.ins * times, algo.outs * times,
                  algo.scratch * times)
    result.in_place, result.out_of_place = algo.in_place, algo.out_of_place

    def move(where, i):
        if where[1] < 0:
            return where
        return where[0], algo.scratch * i + where[1] if where[0] == "s" else where[1] * times + i

    for i in range(times):
        copies = {}
        for rank, blocks in enumerate(algo.blocks):
            for block in blocks:
                twin = result.block(rank, block.send, block.recv, block.channel + i * channels)
                for step in block.steps:
                    made = Step(step.kind, move(step.src, i), move(step.dst, i), step.count)
                    made.hasdep, made.dep = step.hasdep, step.dep
                    twin.steps.append(made)
                    copies[id(step)] = (twin, made)
        for _, made in copies.values():
            made.dep = made.dep and copies[id(made.dep[1])]
    return result


def speak(rng, algo):
    """Chooses a dialect that can say it."""
    algo.protocol = rng.choice(["Simple", "LL", "LL128"])
    algo.dialect = rng.choice(["azure", "msccl", "legacy"])
    if algo.dialect != "azure" and algo.in_place and algo.out_of_place:
        algo.out_of_place = False
    if algo.dialect == "legacy" and algo.out_of_place:
        # What is copied and not sent on goes into <copy> elements.
        for rank, blocks in enumerate(algo.blocks):
            for block in list(blocks):
                if [step.kind for step in block.steps] == ["cpy"] and not block.steps[0].hasdep:
                    step = block.steps[0]
                    algo.copies[rank] += [(step.src[1] + i, step.dst[1] + i) for i in range(step.count)]
                    blocks.remove(block)
    return algo


FAMILIES = [ringAllreduce, ringAllgather, ringReduceScatter, trees, doubleTree, allPairsAllreduce, allPairsMove,
            twoLevels]


def generate(rng, ranks, channels, family=None):
    algo = (family or rng.choice(FAMILIES))(rng, ranks, channels)
    return speak(rng, replicate(algo, rng.choice([1, 1, 2])))
