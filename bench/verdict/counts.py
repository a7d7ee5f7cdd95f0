#!/usr/bin/env python3
"""Adds up how often the verdict was right, over what several runs of magva_verdict have printed.

    for seed in 1 2 3; do build-bench/magva_verdict 200 $seed > $seed.jsonl; done; bench/verdict/counts.py *.jsonl

run.py says what is counted. The eight schools, which every run begins with, count once.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MISLEADING = 0.25
RIGHT = 0.1


@dataclass
class Outcome:
    verdict: str  # 'trusted', 'usable' or 'not to be trusted'
    error: float  # the larger of the worst mean's, in sds, and the worst sd's, as a share
    warnings: list[str]


class Counts:
    """Verdicts by what is true, over all problems and for each case."""

    def __init__(self, listing: bool) -> None:
        self.count: Counter[tuple[str, str]] = Counter()
        self.wrong: Counter[str] = Counter()
        self.listing = listing

    def add(self, case: str, detail: str, outcome: Outcome) -> None:
        truth = "right" if outcome.error <= RIGHT else "misleading" if outcome.error > MISLEADING else "between"
        self.count[truth, outcome.verdict] += 1
        if truth == "between" or (truth == "misleading") != (outcome.verdict == "trusted"):
            return
        self.wrong[f"{case}: {truth} and {outcome.verdict}"] += 1
        if self.listing:
            print(f"{case}, {detail}: error {outcome.error:.2f}, {outcome.verdict}")
            print("".join(f"    {warning}\n" for warning in outcome.warnings), end="")

    def show(self) -> None:
        count = self.count
        total = sum(count.values())
        print(f"{'':12}{'trusted':>10}{'usable':>10}{'not to be trusted':>20}")
        for truth in ("right", "between", "misleading"):
            print(f"{truth:12}{count[truth, 'trusted']:>10}{count[truth, 'usable']:>10}{count[truth, 'not to be trusted']:>20}")
        for what, number in sorted(self.wrong.items()):
            print(f"{what}: {number}")
        doubted = count["right", "usable"] + count["right", "not to be trusted"]
        print(f"misleading and trusted: {count['misleading', 'trusted']} of {total}; doubted needlessly: {doubted} of {total}")


def add_densities(lines: Iterable[str], counts: Counts) -> None:
    """Of lines of magva_verdict; the last may be cut short."""
    for line in lines:
        try:
            fit = json.loads(line)
        except json.JSONDecodeError:
            continue
        counts.add(fit["case"], fit["detail"], Outcome(fit["verdict"], fit["error"], fit["warnings"]))


def main() -> int:
    counts = Counts(listing=True)
    for number, name in enumerate(sys.argv[1:]):
        lines = Path(name).read_text().splitlines()
        add_densities((line for line in lines if number == 0 or '"eight schools"' not in line), counts)
    counts.show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
