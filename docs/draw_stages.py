"""A table of stages as a drawing: a column of boxes, arrows down it, and arcs beside it for every other way."""

from __future__ import annotations

from html import escape
from typing import Any

__all__ = ["drawing"]

WIDTH, HEIGHT, GAP, ARC = 170, 24, 22, 16


def drawing(stages: Any) -> str:
    """Return SVG text for a mapping from names to records with a mapping `then` from outcomes to names."""
    names = [*stages, "end"]
    place = {name: number for number, name in enumerate(names)}
    arcs = _arcs(stages, place)
    left, right = (1 + max((arc["lane"] for arc in arcs if arc["back"] is back), default=0) for back in (True, False))
    x = left * ARC + 8
    width, height = x + WIDTH + right * ARC + 8, len(names) * (HEIGHT + GAP)
    parts = [
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="stages and what follows them">',
        '<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0L6 3L0 6z"/></marker></defs>',
    ]
    for name, number in place.items():
        y = number * (HEIGHT + GAP) + 1
        parts.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4"/>')
        parts.append(f'<text x="{x + WIDTH / 2}" y="{y + HEIGHT / 2 + 4}">{escape(name)}</text>')
    for arc in arcs:
        parts.append(_arc(arc, x))
    return "".join([*parts, "</svg>"])


def _arcs(stages: Any, place: dict[str, int]) -> list[dict[str, Any]]:
    """Return one record for each pair of stages that follow each other, with the outcomes and a free lane."""
    arcs: list[dict[str, Any]] = []
    for name, stage in stages.items():
        for after in dict.fromkeys(stage.then.values()):
            why = [outcome.value for outcome, there in stage.then.items() if there == after]
            label = "" if len(why) == len(stage.then) else why[0] if len(why) == 1 else "otherwise"
            start, end = place[name], place[after]
            lane = 0 if end == start + 1 else None
            arcs.append({"start": start, "end": end, "label": label, "lane": lane, "back": end < start})
    for arc in sorted((a for a in arcs if a["lane"] is None), key=lambda a: abs(a["end"] - a["start"])):
        # Arcs to one stage share a lane: they mean the same way back.
        taken = {
            a["lane"] for a in arcs
            if a["lane"] and a["back"] is arc["back"] and a["end"] != arc["end"] and _overlap(a, arc)
        }  # fmt: skip
        arc["lane"] = next(lane for lane in range(1, len(arcs) + 2) if lane not in taken)
    return arcs


def _overlap(a: dict[str, Any], b: dict[str, Any]) -> bool:
    (low, high), (bottom, top) = sorted((a["start"], a["end"])), sorted((b["start"], b["end"]))
    return low <= top and bottom <= high


def _arc(arc: dict[str, Any], x: float) -> str:
    step = HEIGHT + GAP
    if arc["lane"] == 0:
        middle, top = x + WIDTH / 2, arc["start"] * step + HEIGHT + 1
        path = f"M{middle} {top}V{top + GAP - 1}"
        return _path(path) + _label(arc["label"], middle + 5, top + GAP / 2 + 3)
    side, sign = (x, -1) if arc["back"] else (x + WIDTH, 1)
    out = side + sign * arc["lane"] * ARC
    start, end = arc["start"] * step + HEIGHT * 0.7, arc["end"] * step + HEIGHT * (0.4 if arc["back"] else 0.6)
    return _path(f"M{side} {start}H{out}V{end}H{side}", arc["label"])


def _path(d: str, title: str = "") -> str:
    return (
        f'<path class="way" d="{d}" marker-end="url(#tip)">'
        + (f"<title>{escape(title)}</title>" if title else "")
        + "</path>"
    )


def _label(text: str, x: float, y: float) -> str:
    return f'<text class="why" x="{x}" y="{y}">{escape(text)}</text>' if text else ""
