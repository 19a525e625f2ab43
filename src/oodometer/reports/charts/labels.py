"""Labels: names at the ends of lines, moved apart so that none covers another."""

from __future__ import annotations


def spread(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels apart until neighbours stand a gap apart, each as near to its place as that allows, inside the ends.

    >>> spread([10, 11, 50], 10, 0, 100)
    [5.5, 15.5, 50.0]
    """
    order = sorted(range(len(places)), key=lambda index: places[index])
    groups: list[list[float]] = []  # middle of the group, number of labels
    for index in order:
        groups.append([places[index], 1])
        while True:
            for group in groups:
                half = gap * (group[1] - 1) / 2
                group[0] = min(max(group[0], low + half), max(high - half, low + half))
            if len(groups) < 2 or groups[-1][0] - groups[-2][0] >= gap * (groups[-1][1] + groups[-2][1]) / 2:
                break
            last, before = groups.pop(), groups.pop()
            count = last[1] + before[1]
            groups.append([(last[0] * last[1] + before[0] * before[1]) / count, count])
    flat = [middle + gap * (place - (count - 1) / 2) for middle, count in groups for place in range(int(count))]
    out = [0.0] * len(places)
    for index, place in zip(order, flat, strict=True):
        out[index] = place
    return out
