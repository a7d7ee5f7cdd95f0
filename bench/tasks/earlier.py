#!/usr/bin/env python3
"""Whole `magva fit` commands of an earlier program beside today's: the same CSV files, prior, rank and number of threads.

    bench/tasks/earlier.py COMMIT [--today build/magva] [--repetitions 5] [--jobs 2] [--table FILE RESPONSE]...

COMMIT, of this repository, is built in a temporary worktree; a program that is built already may stand in its place. The
two take turns. Medians of seconds by the clock and of processor seconds for the whole command, which also reads, checks
and writes; and of what the program says that the fit took, assessment included. A table of one's own is discretised by
MDLP, too; R's spam data, 4,601 x 105 then, come from

    Rscript -e 'data(spam, package = "kernlab"); write.csv(spam, "spam.csv", row.names = FALSE)'
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
DISCRETISED = ("--discretise", "mdlp")
ROWS, COLUMNS = 5_000, 100
SIGNAL = 2.0  # sd of the linear predictor where columns are independent
NOT_TRUSTED = 3  # exit code; what was fitted is there


@dataclass(frozen=True)
class Task:
    name: str
    table: Path
    options: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    seconds: float
    processor: float
    fit: float
    gradients: int
    elbo: float
    stopped: str


def write_logistic(path: Path, correlation: float) -> None:
    """An intercept is the program's; each pair of columns has the given correlation."""
    generator = random.Random(7)
    own, shared = math.sqrt(1 - correlation), math.sqrt(correlation)
    coefficients = [generator.gauss(0, SIGNAL / math.sqrt(COLUMNS)) for _ in range(COLUMNS)]
    with path.open("w") as file:
        file.write(",".join([*(f"x{j}" for j in range(1, COLUMNS + 1)), "y"]) + "\n")
        for _ in range(ROWS):
            common = shared * generator.gauss(0, 1)
            x = [common + own * generator.gauss(0, 1) for _ in range(COLUMNS)]
            eta = sum(a * b for a, b in zip(x, coefficients, strict=True))
            y = int(generator.random() < 1 / (1 + math.exp(-eta)))
            file.write(",".join(f"{value:.6f}" for value in x) + f",{y}\n")


def tasks_in(folder: Path, tables: list[tuple[str, str]]) -> Iterator[Task]:
    yield Task("ionosphere, discretised", ROOT / "data" / "ionosphere.csv", ("--response", "Class", *DISCRETISED))
    for correlation in (0.0, 0.5):
        table = folder / f"correlation-{correlation}.csv"
        write_logistic(table, correlation)
        yield Task(f"{ROWS:,} x {COLUMNS} logistic, correlations {correlation:g}", table, ("--response", "y"))
    for file, response in tables:
        yield Task(f"{Path(file).stem}, discretised", Path(file).resolve(), ("--response", response, *DISCRETISED))


def run(program: Path, task: Task, out: Path) -> Run:
    command = [str(program), "fit", str(task.table), *task.options, "--prior-variance", "10", "--rank", "4", "--threads", "1"]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*command, "--quiet", "--out", str(out)], capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, NOT_TRUSTED):
        sys.exit(f"{program}: {done.stderr}")
    fit = json.loads((out / "fit.json").read_text())
    facts = {**fit, **fit["details"]}  # what an earlier one has outside the details
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(seconds, processor, facts["seconds"], facts["gradient_evaluations"], facts["elbo"], facts["stopped"])


@contextmanager
def built(commit: str, jobs: int) -> Iterator[Path]:
    """The program of that commit; its worktree is removed afterwards."""
    if Path(commit).is_file():
        yield Path(commit).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", tree, commit], check=True)
        try:
            flags = ["-DCMAKE_BUILD_TYPE=Release", "-DMAGVA_TESTS=OFF", "-DMAGVA_QUICK=ON"]
            subprocess.run(["cmake", "-G", "Ninja", "-S", tree, "-B", tree / "build", *flags], check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["cmake", "--build", tree / "build", "-j", str(jobs)], check=True, stdout=subprocess.DEVNULL)
            yield tree / "build" / "magva"
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)


def compare(earlier: Path, today: Path, tables: list[tuple[str, str]], repetitions: int) -> None:
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; seconds are medians of {repetitions}\n")
    print("| task | program | seconds | processor | fit | gradients or passes | ELBO | stopped |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task in tasks_in(folder, tables):
            runs: dict[str, list[Run]] = {"earlier": [], "today": []}
            for k in range(repetitions):
                for which, program in (("earlier", earlier), ("today", today)):
                    runs[which].append(run(program, task, folder / f"{task.table.stem}-{which}-{k}"))
            medians = {}
            for which, all_runs in runs.items():
                columns = zip(*((r.seconds, r.processor, r.fit) for r in all_runs), strict=True)
                medians[which] = [median(column) for column in columns]
                last = all_runs[-1]
                times = " | ".join(f"{value:.3f}" for value in medians[which])
                print(f"| {task.name} | {which} | {times} | {last.gradients:,} | {last.elbo:.3f} | {last.stopped} |", flush=True)
            ratios = [a / b for a, b in zip(medians["earlier"], medians["today"], strict=True)]
            print(f"| {task.name} | earlier / today | {' | '.join(f'{ratio:.1f}' for ratio in ratios)} | | | |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("earlier", metavar="COMMIT", help="a commit, or a program")
    parser.add_argument("--today", type=Path, default=ROOT / "build" / "magva")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--table", nargs=2, action="append", default=[], metavar=("FILE", "RESPONSE"), help="another table")
    arguments = parser.parse_args()
    with built(arguments.earlier, arguments.jobs) as earlier:
        compare(earlier, arguments.today.resolve(), arguments.table, arguments.repetitions)


if __name__ == "__main__":
    main()
