#!/usr/bin/env python3
"""How often the verdict of a fit is right, on posteriors whose means and sds are known.

    bench/verdict/run.py build/magva --problems 400 --densities build-bench/magva_verdict --density-problems 200

A fit is *misleading* where it is called trusted and a mean is off by more than .25 posterior sds or an sd by more
than 25 %; it is *doubted needlessly* where there is a warning or exit code 3 although all means are within .1 sds
and all sds within 10 %. Wanted: at most 1 % and 3 %. Problems: logistic and Poisson regressions with 1 to 3
coefficients by quadrature, among them factor levels without successes, separated classes, skewed predictors, tight and
wide priors; with --densities also the eighteen kinds of densities of magva_verdict, from t tails to regressions of 20
columns; --list prints what is wrong with the warnings.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from counts import Counts, Outcome, add_densities

POINTS = {1: 2001, 2: 201, 3: 61}  # of the quadrature, for each dimension
REACH = 60.0  # sds of the fitted Gaussian that it covers on each side


@dataclass
class Problem:
    """A regression with N(0, variance) priors; the first column of `x` is the intercept's."""

    kind: str
    case: str
    x: np.ndarray
    y: np.ndarray
    variance: float

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """At the columns of theta, up to a constant."""
        eta = self.x @ theta
        spread = np.logaddexp(0, eta) if self.kind == "logistic" else np.exp(np.minimum(eta, 700))
        return self.y @ eta - spread.sum(axis=0) - 0.5 * (theta**2).sum(axis=0) / self.variance

    def write(self, path: Path) -> None:
        names = [f"x{j}" for j in range(1, self.x.shape[1])] + ["y"]
        rows = np.column_stack([self.x[:, 1:], self.y])
        np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt="%.17g")


def predictor(case: str, rows: int, rng: np.random.Generator) -> np.ndarray:
    if case in ("level", "empty level"):
        return (rng.random(rows) < rng.choice([0.5, 0.2, 0.1])).astype(float)
    return np.exp(rng.normal(size=rows)) if case == "skewed" else rng.normal(size=rows)


def draw_problem(rng: np.random.Generator) -> Problem:
    kind = str(rng.choice(["logistic", "poisson"], p=[0.65, 0.35]))
    case = str(rng.choice(["plain", "level", "empty level", "separated", "skewed"], p=[0.4, 0.2, 0.2, 0.1, 0.1]))
    columns = int(rng.integers(2, 4))
    rows = int(np.exp(rng.uniform(np.log(20), np.log(400))))
    x = np.column_stack([np.ones(rows)] + [predictor(case, rows, rng) for _ in range(columns - 1)])
    eta = x @ rng.normal(size=columns)
    if kind == "logistic":
        y = (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(float)
    else:
        y = rng.poisson(np.exp(np.clip(eta, -5, 4))).astype(float)
    if case == "empty level":
        y[x[:, 1] == 1] = 0
    if case == "separated" and kind == "logistic":
        y = (x[:, 1] > 0).astype(float)
    return Problem(kind, case, x, y, float(rng.choice([1, 10, 100, 1000], p=[0.2, 0.4, 0.2, 0.2])))


def usable(problem: Problem) -> bool:
    """Two values of the response, and columns that are no combination of each other."""
    return len(np.unique(problem.y)) > 1 and np.linalg.matrix_rank(problem.x) == problem.x.shape[1]


def true_moments(problem: Problem, centre: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and sds by the trapezoid rule, in coordinates that are dense near the mode and reach far out."""
    dimension = len(centre)
    even = np.linspace(-1, 1, POINTS[dimension])
    z = np.sinh(4 * even) / np.sinh(4) * REACH
    weight = np.gradient(z, even)
    curvature = hessian(problem, centre)
    root = np.linalg.inv(np.linalg.cholesky(curvature)).T
    root *= np.median(sd / np.linalg.norm(root, axis=1))
    grid = np.stack([g.ravel() for g in np.meshgrid(*[z] * dimension, indexing="ij")])
    jacobian = np.prod(np.stack([g.ravel() for g in np.meshgrid(*[weight] * dimension, indexing="ij")]), axis=0)
    theta = centre[:, None] + root @ grid
    values = np.concatenate([problem.log_density(part) for part in np.array_split(theta, 1 + grid.shape[1] // 20000, axis=1)])
    mass = np.exp(values - values.max()) * jacobian
    mass /= mass.sum()
    mean = theta @ mass
    return mean, np.sqrt((theta - mean[:, None]) ** 2 @ mass)


def hessian(problem: Problem, theta: np.ndarray) -> np.ndarray:
    eta = problem.x @ theta
    w = 1 / (2 + np.exp(eta) + np.exp(-eta)) if problem.kind == "logistic" else np.exp(np.minimum(eta, 50))
    return (problem.x.T * w) @ problem.x + np.eye(len(theta)) / problem.variance


def judge(program: str, problem: Problem, folder: Path) -> Outcome | None:
    data = folder / "data.csv"
    problem.write(data)
    command = [program, "fit", str(data), "--response", "y", "--model", problem.kind, "--prior-variance",
               str(problem.variance), "--out", str(folder / "fit"), "--quiet"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 3):
        print(f"skipped: {run.stderr.strip()}", file=sys.stderr)
        return None
    record = json.loads((folder / "fit" / "fit.json").read_text())
    mean = np.array([p["mean"] for p in record["parameters"]])
    sd = np.array([p["sd"] for p in record["parameters"]])
    true_mean, true_sd = true_moments(problem, mean, sd)
    error = max(np.max(np.abs(mean - true_mean) / true_sd), np.max(np.abs(sd / true_sd - 1)))
    verdict = "not to be trusted" if run.returncode == 3 else "usable" if record["warnings"] else "trusted"
    return Outcome(verdict, float(error), [str(warning) for warning in record["warnings"]])


def try_regressions(program: str, problems: int, seed: int, counts: Counts) -> None:
    rng = np.random.default_rng(seed)
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        while done < problems:
            problem = draw_problem(rng)
            outcome = judge(program, problem, Path(folder)) if usable(problem) else None
            if outcome is None:
                continue
            done += 1
            rows, columns = problem.x.shape
            detail = f"{problem.case}, {rows} x {columns}, variance {problem.variance:g}"
            counts.add(problem.kind, detail, outcome)


def try_densities(program: str, problems: int, seed: int, counts: Counts) -> None:
    run = subprocess.run([program, str(problems), str(seed)], capture_output=True, text=True, check=True)
    add_densities(run.stdout.splitlines(), counts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the magva program")
    parser.add_argument("--problems", type=int, default=400, help="regressions")
    parser.add_argument("--densities", help="the magva_verdict program")
    parser.add_argument("--density-problems", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print every wrong verdict")
    options = parser.parse_args()
    counts = Counts(options.list)
    try_regressions(options.program, options.problems, options.seed, counts)
    if options.densities:
        try_densities(options.densities, options.density_problems, options.seed, counts)
    counts.show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
