#!/usr/bin/env python3
"""Peak memory of each rank of an MPI job up to the first step of a fit, which is where tables and designs are in memory together.

    bench/ranks/memory.py build/magva [--rows 1000000] [--ranks 1,2,4]

A response of two classes and 21 predictors in four CSV files: read by --response and by a formula, as one file, and as four design files.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy as np

FILES = 4
PREDICTORS = 21
DIFFERENT = 4096


def write_tables(folder: Path, rows: int) -> None:
    """Predictors are taken from some thousand different rows: numbers as text take longest."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(DIFFERENT, PREDICTORS)).round(4)
    linear = x[:, :3].sum(1)
    text = [",".join(f"{value:.4f}" for value in row) for row in x]
    header = ",".join(["y", *(f"x{j}" for j in range(1, PREDICTORS + 1))]) + "\n"
    with (folder / "whole.csv").open("w") as whole:
        whole.write(header)
        for k in range(FILES):
            chosen = rng.integers(0, DIFFERENT, rows // FILES)
            y = (linear[chosen] + rng.logistic(size=chosen.size) > 0).astype(int)
            lines = "".join(f"{a},{text[i]}\n" for a, i in zip(y.tolist(), chosen.tolist(), strict=True))
            (folder / f"part-{k}.csv").write_text(header + lines)
            whole.write(lines)


def write_designs(program: str, folder: Path) -> None:
    def convert(*words: str) -> None:
        subprocess.run([program, "convert", *words], cwd=folder, check=True, capture_output=True)

    convert("part-*.csv", "--response", "y", "--out", "all.magva")
    for k in range(FILES):
        convert(f"part-{k}.csv", "--like", "all.magva", "--out", f"part-{k}.magva")


def peaks(program: str, folder: Path, ranks: int, words: list[str]) -> list[float]:
    """In MB. The leader describes the model once all ranks have their rows."""
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    fit = [program, "fit", *words, "--rule", "adadelta", "--rank", "2", "--out", f"fit-{ranks}"]
    job = subprocess.Popen([*launcher, *fit], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    assert job.stdout is not None
    said = b""
    while b"parameters" not in said:
        more = os.read(job.stdout.fileno(), 4096)
        if not more:
            raise RuntimeError(said.decode())
        said += more
    children = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, text=True).stdout.split()
    found = [re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{child}/status").read_text()) for child in children]
    os.killpg(job.pid, signal.SIGTERM)
    job.communicate()
    return [int(peak[1]) * 1024 / 1e6 for peak in found if peak]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--ranks", default="1,2,4")
    options = parser.parse_args()
    tasks = {
        "four CSV files": ["part-*.csv", "--response", "y"],
        "four CSV files, formula": ["part-*.csv", "--formula", "y ~ ."],
        "one CSV file": ["whole.csv", "--response", "y"],
        "four design files": ["part-*.magva"],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, options.rows)
        write_designs(options.program, folder)
        print(f"design: {options.rows * (PREDICTORS + 1) * 8 / 1e6:.0f} MB")
        for task, words in tasks.items():
            for ranks in map(int, options.ranks.split(",")):
                each = peaks(options.program, folder, ranks, words)
                print(f"{task}, {ranks} ranks: {', '.join(f'{peak:.0f}' for peak in each)} MB", flush=True)


if __name__ == "__main__":
    main()
