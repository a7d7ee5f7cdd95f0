#!/usr/bin/env python3
"""Peak memory of mixed models on large tables, beside the table itself as doubles.

    bench/mixed/memory.py build/magva [--rows 1000000] [--families gaussian,bernoulli]

A response, a group column and 19 predictors, a hundred rows a group, written as CSV and read by `magva fit` with
`y ~ . + (1 | g)`. The bound is three times the table: rows x 21 columns x 8 bytes.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PREDICTORS = 19
BLOCK = 100_000
DIFFERENT = 4096


def write(path: Path, rows: int, family: str) -> None:
    """Predictors are taken from some thousand different rows: numbers as text take longest."""
    rng = np.random.default_rng(1)
    groups = max(2, rows // 100)
    effects = rng.normal(size=groups)
    x = rng.normal(size=(DIFFERENT, PREDICTORS)).round(3)
    linear = x @ (rng.normal(size=PREDICTORS) * 0.2)
    text = [",".join(f"{value:.3f}" for value in row) for row in x]
    with path.open("w") as file:
        file.write(",".join(["y", "g", *(f"x{j}" for j in range(1, PREDICTORS + 1))]) + "\n")
        for first in range(0, rows, BLOCK):
            count = min(BLOCK, rows - first)
            g, k = rng.integers(0, groups, count), rng.integers(0, DIFFERENT, count)
            eta = linear[k] + effects[g]
            binary = rng.random(count) < 1 / (1 + np.exp(-eta))
            y = (eta + rng.normal(size=count)).round(4) if family == "gaussian" else binary.astype(int)
            file.write("".join(f"{a},{b},{text[c]}\n" for a, b, c in zip(y.tolist(), g.tolist(), k.tolist(), strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("magva")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--families", default="gaussian,bernoulli")
    arguments = parser.parse_args()
    table = arguments.rows * (PREDICTORS + 2) * 8 / 1e6
    print(f"{'family':10} {'rows':>10} {'table MB':>9} {'peak MB':>9} {'ratio':>6} {'cpu s':>8} {'wall s':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for family in arguments.families.split(","):
            path = Path(folder) / f"{family}.csv"
            write(path, arguments.rows, family)
            begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            # A process of its own, since the largest child so far is what the system reports.
            run = subprocess.run(
                [sys.executable, "-c",
                 "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
                 "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)",
                 arguments.magva, "fit", path, "--formula", "y ~ . + (1 | g)", "--family", family, "--text", "g", "--quiet",
                 "--out", Path(folder) / "fit", "--force"],
                capture_output=True, text=True, check=False)
            if run.returncode not in (0, 3):
                sys.exit(run.stderr)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            peak = int(run.stdout.splitlines()[-1]) * 1024 / 1e6
            print(f"{family:10} {arguments.rows:10} {table:9.0f} {peak:9.0f} {peak / table:6.2f} {cpu:8.1f} "
                  f"{time.perf_counter() - begin:8.1f}",
                  flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
