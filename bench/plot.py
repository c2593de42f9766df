# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Latency against bytes, both logarithmic, one panel per collective and rank count, as an SVG without libraries."""

import math

WIDTH, HEIGHT, MARGIN, COLUMNS = 360, 240, 62, 3
COLORS = ["#c02020", "#2060c0", "#208040", "#a07000", "#707070"]


def text(x, y, label, anchor="middle", size=11):
    return '<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>' % (x, y, anchor, size, label)


def unit(size):
    for limit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= limit:
            return "%d%s" % (size // limit, name)
    return str(size)


def panel(rows, names, title, left, top):
    """The curves of one collective; the floor is dashed."""
    curves = [(name, [(r["bytes"], r["us"] if i == 0 else r[name]) for r in rows]) for i, name in enumerate(names)]
    curves.append(("floor", [(r["bytes"], r["floor_us"]) for r in rows]))
    points = [(x, y) for _, curve in curves for x, y in curve if y]
    lowX, highX = math.log2(min(x for x, _ in points)), math.log2(max(x for x, _ in points)) + 0.01
    lowY, highY = math.floor(math.log10(min(y for _, y in points))), math.ceil(math.log10(max(y for _, y in points)))

    def place(x, y):
        return (left + MARGIN + (math.log2(x) - lowX) / (highX - lowX) * (WIDTH - MARGIN - 10),
                top + HEIGHT - MARGIN - (math.log10(y) - lowY) / max(highY - lowY, 1) * (HEIGHT - MARGIN - 30))

    out = [text(left + WIDTH / 2, top + 16, title, size=13)]
    for decade in range(lowY, highY + 1):
        x, y = place(2 ** lowX, 10.0 ** decade)
        out.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>' % (x, y, left + WIDTH - 10, y))
        out.append(text(x - 4, y + 4, "%g us" % 10.0 ** decade, "end", 9))
    for row in rows:
        x, y = place(row["bytes"], 10.0 ** lowY)
        out.append(text(x, y + 14, unit(row["bytes"]), size=9))
    for i, (name, curve) in enumerate(curves):
        isFloor = name == "floor"
        color = "#000" if isFloor else COLORS[i % len(COLORS)]
        line = " ".join("%.1f,%.1f" % place(x, y) for x, y in curve if y)
        dash = ' stroke-dasharray="4 3"' if isFloor else ""
        out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>' % (line, color, dash))
        out.append('<text x="%.1f" y="%.1f" font-size="10" fill="%s">%s</text>'
                   % (left + MARGIN + 8, top + 36 + 12 * i, color, name))
    return out


def write(rows, names, path):
    groups = {}
    for row in rows:
        groups.setdefault("%s, %d ranks" % (row["operation"], row["ranks"]), []).append(row)
    lines = math.ceil(len(groups) / COLUMNS)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif">'
           % (COLUMNS * WIDTH, lines * HEIGHT), '<rect width="100%" height="100%" fill="white"/>']
    for i, (title, group) in enumerate(groups.items()):
        out += panel(group, names, title, i % COLUMNS * WIDTH, i // COLUMNS * HEIGHT)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")
