#!/usr/bin/env python3
"""Everyday regressions and mixed models: magva's time and accuracy beside its peers.

    bench/mixed/run.py build/magva [--cases cbpp,sleepstudy] [--draws 4000]

Data sets of lme4, MASS and survival are exported by R, others are simulated with a fixed seed. For each: seconds of
`magva fit`, of lme4, glmmTMB, MASS or lm, of rstanarm's NUTS (with --rstanarm), and of NumPyro's NUTS, whose posterior under the same priors is the
reference: the largest error of a mean, in posterior sds, and of an sd. Bounds: .1 and 10 %. What is not installed
(R's packages, NumPyro) is left out, with a sentence.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from reference import Case, Group, sample

CASES = [
    Case("cbpp", "cbind(incidence, size - incidence) ~ period + (1 | herd)", "binomial", groups=[Group("herd")],
         response="incidence", trials="size", text=["period", "herd"]),
    Case("sleepstudy", "Reaction ~ Days + (1 + Days | Subject)", "gaussian", groups=[Group("Subject", ["Days"])],
         response="Reaction", text=["Subject"]),
    Case("grouseticks", "TICKS ~ YEAR + cHEIGHT + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION)", "poisson",
         groups=[Group("BROOD"), Group("INDEX"), Group("LOCATION")], response="TICKS",
         text=["YEAR", "BROOD", "INDEX", "LOCATION"]),
    Case("quine", "Days ~ Eth + Sex + Age + Lrn", "negbinomial", response="Days"),
    Case("lung", "Surv(time, status) ~ age + sex", "weibull", response="time", status="status"),
    Case("birthwt", "bwt ~ age + lwt + smoke + ptl + ht + ui + ftv", "gaussian", response="bwt"),
    Case("Boston", "medv ~ .", "gaussian", response="medv"),
    Case("binary", "y ~ x + z + (1 | subject)", "bernoulli", groups=[Group("subject")], text=["subject"]),
    Case("crossed", "y ~ x + (1 | subject) + (1 | item)", "bernoulli", groups=[Group("subject"), Group("item")],
         text=["subject", "item"]),
    Case("counts", "y ~ x + offset(log(days)) + (1 | site)", "poisson", groups=[Group("site")], offset="days",
         text=["site"]),
    Case("InstEval", "y ~ service + (1 | s) + (1 | d)", "gaussian", groups=[Group("s"), Group("d")],
         text=["s", "d", "service"], excluded_from_bounds="NUTS takes hours"),
]


def simulated(name: str) -> pd.DataFrame | None:
    rng = np.random.default_rng(20)
    if name == "binary":  # 500 subjects, 7 binary observations each
        subject = np.repeat(np.arange(500), 7)
        x, z = rng.normal(size=3500), rng.normal(size=500)[subject]
        eta = -0.5 + 0.7 * x - 0.4 * z + rng.normal(size=500)[subject]
        return pd.DataFrame({"y": (rng.random(3500) < 1 / (1 + np.exp(-eta))).astype(int), "x": x, "z": z, "subject": subject})
    if name == "crossed":  # 60 subjects answer 20 items
        subject, item = np.repeat(np.arange(60), 20), np.tile(np.arange(20), 60)
        x = rng.normal(size=1200)
        eta = 0.3 + 0.5 * x + rng.normal(size=60)[subject] + 0.8 * rng.normal(size=20)[item]
        return pd.DataFrame({"y": (rng.random(1200) < 1 / (1 + np.exp(-eta))).astype(int), "x": x, "subject": subject, "item": item})
    if name == "counts":
        site, x = np.repeat(np.arange(40), 5), rng.normal(size=200)
        days = rng.integers(1, 30, 200)
        rate = days * np.exp(-2 + 0.4 * x + 0.6 * rng.normal(size=40)[site])
        return pd.DataFrame({"y": rng.poisson(rate), "x": x, "days": days, "site": site})
    return None


def peer_seconds(folder: Path, name: str, tasks: list[str]) -> dict[str, float]:
    if not shutil.which("Rscript"):
        return {}
    found: dict[str, float] = {}
    for task in tasks:
        run = subprocess.run(["Rscript", Path(__file__).with_name("peers.R"), task, folder, name], capture_output=True, text=True)
        found |= {peer: float(seconds) for peer, seconds in (line.split() for line in run.stdout.splitlines()) if seconds != "NA"}
    return found


def magva_fit(magva: str, case: Case, folder: Path) -> tuple[float, dict]:
    words = [magva, "fit", folder / f"{case.name}.csv", "--formula", case.formula, "--family", case.family, "--quiet"]
    for column in case.text:
        words += ["--text", column]
    seconds = []
    for k in range(1 if case.name == "InstEval" else 3):
        out = folder / f"{case.name}-{k}.fit"
        begin = time.perf_counter()
        run = subprocess.run([*words, "--out", out], capture_output=True, text=True)
        seconds.append(time.perf_counter() - begin)
        if run.returncode not in (0, 3):
            sys.exit(f"{case.name}: {run.stderr}")
    return min(seconds), json.loads((out / "fit.json").read_text())


def errors(record: dict, draws: pd.DataFrame) -> tuple[float, float, str]:
    """The largest error of a mean, in posterior sds, of an sd, and where they are."""
    worst_mean, worst_sd, where = 0.0, 0.0, ""
    for p in record["parameters"]:
        if p["name"] not in draws:
            continue
        mean, sd = draws[p["name"]].mean(), draws[p["name"]].std()
        if abs(p["mean"] - mean) / sd > worst_mean:
            worst_mean, where = abs(p["mean"] - mean) / sd, p["name"]
        worst_sd = max(worst_sd, abs(p["sd"] / sd - 1))
    return worst_mean, worst_sd, where


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("magva")
    parser.add_argument("--cases", default=",".join(case.name for case in CASES))
    parser.add_argument("--draws", type=int, default=4000, help="of NUTS; 0: no reference")
    parser.add_argument("--rstanarm", action="store_true", help="time rstanarm's NUTS, too: minutes")
    arguments = parser.parse_args()
    tasks = ["time", "nuts"] if arguments.rstanarm else ["time"]
    folder = Path(tempfile.mkdtemp())
    if shutil.which("Rscript"):
        subprocess.run(["Rscript", Path(__file__).with_name("peers.R"), "export", folder], capture_output=True)
    else:
        print("R is not installed: only simulated data, no lme4 and no glmmTMB")
    print(f"{'case':12} {'magva':>8} {'NUTS':>8} {'mean':>6} {'sd':>6}  peers")
    for case in CASES:
        if case.name not in arguments.cases.split(","):
            continue
        data = simulated(case.name)
        if data is not None:
            data.to_csv(folder / f"{case.name}.csv", index=False)
        elif not (folder / f"{case.name}.csv").exists():
            print(f"{case.name:12} left out: R or the package with these data is not installed")
            continue
        seconds, record = magva_fit(arguments.magva, case, folder)
        peers = ", ".join(f"{peer} {s:.2f} s" for peer, s in peer_seconds(folder, case.name, tasks).items())
        line = f"{case.name:12} {seconds:8.2f}"
        if arguments.draws and not case.excluded_from_bounds:
            try:
                begin = time.perf_counter()
                draws = sample(case, pd.read_csv(folder / f"{case.name}.csv"), record, arguments.draws)
                mean, sd, where = errors(record, draws)
                line += f" {time.perf_counter() - begin:8.1f} {mean:6.3f} {sd:6.3f}  {peers}; mean at {where}"
            except ImportError:
                line += f" {'-':>8} {'-':>6} {'-':>6}  {peers}; NumPyro is not installed"
        else:
            line += f" {'-':>8} {'-':>6} {'-':>6}  {peers} {case.excluded_from_bounds}"
        print(line, flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
