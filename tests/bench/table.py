"""The table of a benchmark: a line is a list of measurements, a target says what they are held against."""

import math


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(part * len(values)) - 1)]


class Table:
    def __init__(self):
        self.lines = []
        self.missing = 0

    def add(self, name, values, unit, target=None, ratio=None, of=0.5):
        """values in `unit`; target: the highest good value of the percentile `of`; ratio: ours to theirs, or None."""
        verdict = "" if target is None else "met" if percentile(values, of) <= target else "MISSED"
        self.lines.append((name, f"{percentile(values, 0.5):.4g} {unit}", f"{percentile(values, 0.95):.4g} {unit}",
                           "" if target is None else f"{target:g} {unit}", "" if ratio is None else f"{ratio:.3g}", verdict))
        print(f"  {self.lines[-1][0]}: {', '.join(f'{value:.4g}' for value in values)} {unit}", flush=True)

    def not_measured(self, name, why):
        self.missing += 1
        self.lines.append((name, "-", "-", "", "", "NOT MEASURED"))
        print(f"  {name}: not measured: {why}", flush=True)

    def show(self):
        rows = [("what", "p50", "p95", "target", "ratio", "verdict"), *self.lines]
        widths = [max(len(row[column]) for row in rows) for column in range(6)]
        print()
        for number, row in enumerate(rows):
            print("  ".join(cell.ljust(width) if column in (0, 5) else cell.rjust(width)
                            for column, (cell, width) in enumerate(zip(row, widths))).rstrip())
            if number == 0:
                print("  ".join("-" * width for width in widths))
