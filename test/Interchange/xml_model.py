# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A schedule in the XML of MSCCL that is easy to change: blocks and steps name each
other as objects, and get their numbers when the text is written."""


class Step:
    def __init__(self, kind, src, dst, count=1):
        self.kind, self.src, self.dst, self.count = kind, src, dst, count
        self.dep = None  # (block, step)
        self.hasdep = False


class Block:
    def __init__(self, rank, send=-1, recv=-1, channel=0):
        self.rank, self.send, self.recv, self.channel = rank, send, recv, channel
        self.steps = []

    def add(self, kind, src, dst=None, count=1, after=()):
        """Appends a step that comes after others, [(block, step)]: all but the last
        become nops. Returns (block, step)."""
        after = [dep for dep in after if dep and dep[0] is not self]
        for i, dep in enumerate(after):
            last = i + 1 == len(after)
            step = Step(kind, src, dst or src, count) if last else Step("nop", ("i", -1), ("o", -1), 0)
            step.dep = dep
            dep[1].hasdep = True
            self.steps.append(step)
        if not after:
            self.steps.append(Step(kind, src, dst or src, count))
        return self, self.steps[-1]


class Algo:
    """`chunks`: of the whole; `shapes`: (i_chunks, o_chunks, s_chunks) of every rank."""

    def __init__(self, name, coll, ranks, chunks, ins, outs, scratch=0):
        self.name, self.coll, self.ranks, self.chunks = name, coll, ranks, chunks
        self.ins, self.outs, self.scratch = ins, outs, scratch
        self.protocol, self.dialect = "Simple", "azure"
        self.in_place, self.out_of_place = True, False
        self.blocks = [[] for _ in range(ranks)]
        self.copies = [[] for _ in range(ranks)]  # (from, to)

    def block(self, rank, send=-1, recv=-1, channel=0):
        self.blocks[rank].append(Block(rank, send, recv, channel))
        return self.blocks[rank][-1]

    def every(self):
        return [(block, step) for blocks in self.blocks for block in blocks for step in block.steps]

    def text(self):
        channels = 1 + max([b.channel for blocks in self.blocks for b in blocks] or [0])
        coll = self.coll
        if self.dialect == "azure" and coll == "reduce_scatter":
            coll = "reducescatter"
        optional = ""
        if self.dialect == "azure":
            optional = ' outofplace="%d" minBytes="0" maxBytes="0"' % self.out_of_place
        out = ['<algo name="%s" proto="%s" nchannels="%d" nchunksperloop="%d" ngpus="%d" coll="%s" inplace="%d"%s>'
               % (self.name, self.protocol, channels, self.chunks, self.ranks, coll, self.in_place, optional)]
        for rank, blocks in enumerate(self.blocks):
            out.append('  <gpu id="%d" i_chunks="%d" o_chunks="%d" s_chunks="%d">'
                       % (rank, self.ins, self.outs, self.scratch))
            out += ['    <copy i_off="%d" o_off="%d"/>' % copy for copy in self.copies[rank]]
            for i, block in enumerate(blocks):
                out.append('    <tb id="%d" send="%d" recv="%d" chan="%d">' % (i, block.send, block.recv, block.channel))
                out += [self.step(blocks, s, step) for s, step in enumerate(block.steps)]
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
