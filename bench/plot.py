# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Latency and bus bandwidth against bytes, all logarithmic, as an SVG without libraries.

Two panels per collective and number of ranks: time with the floor and the fit of ours, and bus bandwidth as nccl-tests
defines it, which is what a link carries whatever the number of ranks.
"""

import math

WIDTH, HEIGHT, MARGIN, PAIRS = 340, 250, 58, 2
COLORS = ["#c02020", "#2060c0", "#208040", "#a07000", "#707070"]


def text(x, y, label, anchor="middle", size=11, color="#000"):
    return ('<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" fill="%s">%s</text>'
            % (x, y, anchor, size, color, label))


def unit(size):
    for limit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= limit:
            return "%d%s" % (size // limit, name)
    return str(size)


def busFactor(operation, ranks):
    """Bus bandwidth by algorithm bandwidth."""
    name = operation.split(":")[0]
    if name == "allreduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if name in ("allgather", "reduce_scatter", "alltoall", "gather", "scatter") else 1


class Panel:
    """One diagram at a place of the picture."""

    def __init__(self, left, top, title, curves, ofY):
        points = [(x, y) for _, _, _, curve in curves for x, y in curve if y]
        self.left, self.top, self.curves = left, top, curves
        self.lowX, self.highX = math.log2(min(x for x, _ in points)), math.log2(max(x for x, _ in points)) + 0.01
        self.lowY = math.floor(math.log10(min(y for _, y in points)))
        self.highY = max(math.ceil(math.log10(max(y for _, y in points))), self.lowY + 1)
        self.out = [text(left + WIDTH / 2, top + 16, title, size=13)]
        for decade in range(self.lowY, self.highY + 1):
            x, y = self.place(2 ** self.lowX, 10.0 ** decade)
            self.out.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>'
                            % (x, y, left + WIDTH - 10, y))
            self.out.append(text(x - 4, y + 4, "%g %s" % (10.0 ** decade, ofY), "end", 9))
        for x in sorted({x for x, _ in points}):
            at = self.place(x, 10.0 ** self.lowY)
            self.out.append(text(at[0], at[1] + 14, unit(x), size=9))

    def place(self, x, y):
        return (self.left + MARGIN + (math.log2(x) - self.lowX) / (self.highX - self.lowX) * (WIDTH - MARGIN - 14),
                self.top + HEIGHT - 40 - (math.log10(y) - self.lowY) / (self.highY - self.lowY) * (HEIGHT - 70))

    def draw(self, labelled):
        for i, (name, color, dash, curve) in enumerate(self.curves):
            line = " ".join("%.1f,%.1f" % self.place(x, y) for x, y in curve if y)
            self.out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>'
                            % (line, color, ' stroke-dasharray="%s"' % dash if dash else ""))
            if labelled:
                # Below the curves, which rise.
                y = self.top + HEIGHT - 46 - 12 * (len(self.curves) - 1 - i)
                self.out.append(text(self.left + WIDTH - 14, y, name, "end", 10, color))
        return self.out


def pair(rows, names, fit, title, left, top):
    """Both panels of one collective."""
    alpha, beta, residual = fit(rows)
    factor = busFactor(rows[0]["operation"], rows[0]["ranks"])

    def times(i, name):
        return [(r["bytes"], r["us"] if i == 0 else r.get(name)) for r in rows]

    curves = [(name, COLORS[i % len(COLORS)], "", times(i, name)) for i, name in enumerate(names)]
    floor = ("floor", "#000", "4 3", [(r["bytes"], r["floor_us"]) for r in rows])
    fitted = ("T = %.2f us + S / %.1f GB/s, off by %.0f %%"
              % (alpha, 1e-3 / beta if beta > 0 else 0, 100 * residual), COLORS[0], "1 3",
              [(r["bytes"], alpha + beta * r["bytes"]) for r in rows])
    speeds = [(name, color, dash, [(x, factor * x / y / 1e3 if y else None) for x, y in curve])
              for name, color, dash, curve in curves]
    return (Panel(left, top, title, curves + [floor, fitted], "us").draw(True)
            + Panel(left + WIDTH, top, "bus bandwidth", speeds, "GB/s").draw(False))


def write(rows, names, fit, path, only=None):
    """`only`: the (operation, ranks) to show, in this order; else all."""
    found = {}
    for row in rows:
        found.setdefault((row["operation"], row["ranks"]), []).append(row)
    shown = [(key, found[key]) for key in (only or found) if key in found]
    lines = math.ceil(len(shown) / PAIRS)
    width = 2 * WIDTH * min(PAIRS, len(shown))
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif">'
           % (width, lines * HEIGHT), '<rect width="100%" height="100%" fill="white"/>']
    for i, ((operation, ranks), group) in enumerate(shown):
        out += pair(group, names, fit, "%s, %d ranks" % (operation, ranks), i % PAIRS * 2 * WIDTH,
                    i // PAIRS * HEIGHT)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")
