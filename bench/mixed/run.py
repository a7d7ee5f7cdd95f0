#!/usr/bin/env python3
"""Everyday regressions and mixed models: magva's time and accuracy beside its peers, in one run.

    bench/mixed/run.py build/magva [--cases cbpp,sleepstudy] [--draws 4000] [--seed 20] [--rstanarm]

Data sets of lme4, MASS, survival and ordinal are exported by R, others are simulated. For each: processor seconds of
the whole command `magva fit`, of the calls of lme4, glmmTMB, MASS, survival, ordinal or lm, of rstanarm's NUTS (with
--rstanarm: its call alone, and the R process that loads it and the data), and of NumPyro's NUTS. Accuracy: against
NumPyro under the same priors the largest error of a mean, in posterior sds (bound .1), and of an sd (bound 10 %),
each with the standard error that NUTS itself has there; against the first of the classical fits the largest difference
of a coefficient, in standard errors (bound .3). What is not installed is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from reference import Case, Group, sample
from simulated import simulated

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
    Case("wine", "rating ~ temp + contact + (1 | judge)", "ordered", groups=[Group("judge")], response="rating", text=["judge", "rating"]),
    Case("birthwt", "bwt ~ age + lwt + smoke + ptl + ht + ui + ftv", "gaussian", response="bwt"),
    Case("Boston", "medv ~ .", "gaussian", response="medv"),
    Case("binary", "y ~ x + z + (1 | subject)", "bernoulli", groups=[Group("subject")], text=["subject"]),
    Case("slopes", "y ~ x + (1 + x | subject)", "bernoulli", groups=[Group("subject", ["x"])], text=["subject"]),
    Case("nested", "y ~ x + (1 | school/class)", "bernoulli", groups=[Group("school"), Group("school:class")],
         text=["school", "class"]),
    Case("rows", "y ~ x + (1 | site) + (1 | row)", "poisson", groups=[Group("site"), Group("row")], text=["site", "row"]),
    Case("crossed", "y ~ x + (1 | subject) + (1 | item)", "bernoulli", groups=[Group("subject"), Group("item")],
         text=["subject", "item"]),
    Case("counts", "y ~ x + offset(log(days)) + (1 | site)", "poisson", groups=[Group("site")], offset="days",
         text=["site"]),
    Case("few", "y ~ x + arm + (1 | subject)", "bernoulli", groups=[Group("subject")], text=["subject"]),
    Case("clinics", "y ~ x + offset(log(days)) + (1 | clinic)", "negbinomial", groups=[Group("clinic")], offset="days",
         text=["clinic"]),
    Case("raters", "y ~ x + (1 | rater)", "ordered", groups=[Group("rater")], text=["rater", "y"]),
    Case("incomplete", "y ~ x + offset(log(effort)) + (1 | field) + (1 | year)", "poisson",
         groups=[Group("field"), Group("year")], offset="effort", text=["field", "year"]),
    Case("curve", "y ~ s(x) + z + (1 | plot)", "gaussian", groups=[Group("plot")], text=["plot"]),
    Case("smooths", "y ~ s(x) + s(w) + z", "gaussian"),
    Case("season", "y ~ s(day) + z", "poisson"),
    Case("InstEval", "y ~ service + (1 | s) + (1 | d)", "gaussian", groups=[Group("s"), Group("d")],
         text=["s", "d", "service"], without_nuts="NUTS takes hours"),
]


@dataclass
class Peers:
    """Processor seconds of each; the first one's coefficients, and their largest standard errors: some peers lose theirs."""

    seconds: dict[str, float] = field(default_factory=dict)
    coefficients: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ask_peers(folder: Path, case: Case, tasks: list[str]) -> Peers:
    peers = Peers()
    for task in tasks if shutil.which("Rscript") else []:
        words = ["Rscript", Path(__file__).with_name("peers.R"), task, folder, case.name, ",".join(case.text)]
        before = processor_seconds()
        output = subprocess.run(words, capture_output=True, text=True).stdout
        if task == "nuts" and output:
            peers.seconds["R with rstanarm"] = processor_seconds() - before
        for line in output.splitlines():
            kind, peer, *values = line.split()
            if kind == "time":
                peers.seconds[peer] = float(values[0])
                continue
            name, estimate, error = values[0], float(values[1]), float(values[2])
            peers.coefficients.setdefault(name, estimate)
            peers.errors[name] = max(error, peers.errors.get(name, 0.0))
    return peers


def magva_fit(magva: str, case: Case, folder: Path) -> tuple[float, Path]:
    """The least of three runs, and the folder of the last."""
    words = [magva, "fit", folder / f"{case.name}.csv", "--formula", case.formula, "--family", case.family, "--missing", "drop",
             "--quiet"]
    for column in case.text:
        words += ["--text", column]
    seconds = []
    for k in range(1 if case.name == "InstEval" else 3):
        out = folder / f"{case.name}-{k}.fit"
        before = processor_seconds()
        run = subprocess.run([*words, "--out", out], capture_output=True, text=True)
        seconds.append(processor_seconds() - before)
        if run.returncode not in (0, 3):
            sys.exit(f"{case.name}: {run.stderr}")
    return min(seconds), out


@dataclass
class Worst:
    """The largest error of its kind, where it is, and the standard error that the reference has there."""

    error: float = 0.0
    of_reference: float = 0.0
    where: str = ""

    def take(self, error: float, of_reference: float, where: str) -> None:
        if error > self.error:
            self.error, self.of_reference, self.where = error, of_reference, where


def errors(record: dict, draws: pd.DataFrame) -> tuple[Worst, Worst]:
    """Of means, in posterior sds, and of sds."""
    from numpyro.diagnostics import effective_sample_size

    def effective(values: pd.Series) -> float:
        return float(effective_sample_size(values.to_numpy()[None]))

    mean, sd = Worst(), Worst()
    for p in record["parameters"]:
        if p["name"] not in draws:
            continue
        z = (draws[p["name"]] - draws[p["name"]].mean()) / draws[p["name"]].std()
        mean.take(abs(p["mean"] - draws[p["name"]].mean()) / draws[p["name"]].std(), effective(z) ** -0.5, p["name"])
        sd.take(abs(p["sd"] / draws[p["name"]].std() - 1), 0.5 * (z**2).std() * effective(z**2) ** -0.5, p["name"])
    return mean, sd


def classical_difference(record: dict, peers: Peers) -> float | None:
    """R calls the level b of a factor a "ab", magva "a[b]"."""
    found = [abs(p["mean"] - estimate) / peers.errors[name]
             for p in record["parameters"] for name, estimate in peers.coefficients.items()
             if name == p["name"].replace("[", "").replace("]", "")]
    return max(found, default=None)


def shown(value: float | None, digits: int = 3) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def compare(case: Case, folder: Path, arguments: argparse.Namespace) -> str:
    seconds, fit = magva_fit(arguments.magva, case, folder)
    record, model = (json.loads((fit / name).read_text()) for name in ("fit.json", "model.json"))
    peers = ask_peers(folder, case, ["fit", "nuts"] if arguments.rstanarm else ["fit"])
    nuts = None
    mean = sd = Worst(error=float("nan"))
    note = case.without_nuts
    if arguments.draws and not case.without_nuts:
        try:
            data = pd.read_csv(folder / f"{case.name}.csv").dropna()
            nuts, draws = sample(case, data, record, model, arguments.draws)
            mean, sd = errors(record, draws)
            note = f"mean at {mean.where} (NUTS +- {mean.of_reference:.3f}), sd at {sd.where} (NUTS +- {sd.of_reference:.3f})"
        except ImportError:
            note = "NumPyro is not installed"
    times = ", ".join(f"{peer} {s:.3g} ({seconds / s:.2g})" for peer, s in peers.seconds.items())
    return (f"{case.name:12} {seconds:7.2f} {shown(nuts, 1):>7} {shown(mean.error):>6} {shown(sd.error):>6} "
            f"{shown(classical_difference(record, peers), 2):>6}  {times}; {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("magva")
    parser.add_argument("--cases", default=",".join(case.name for case in CASES))
    parser.add_argument("--draws", type=int, default=4000, help="of NUTS; 0: no reference")
    parser.add_argument("--seed", type=int, default=20, help="of the simulated data sets")
    parser.add_argument("--rstanarm", action="store_true", help="time rstanarm's NUTS, too: minutes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if shutil.which("Rscript"):
            subprocess.run(["Rscript", Path(__file__).with_name("peers.R"), "export", folder], capture_output=True)
        else:
            print("R is not installed: only simulated data, no peers but NumPyro")
        print("processor seconds; of peers in brackets magva's over theirs\n"
              f"{'case':12} {'magva':>7} {'NUTS':>7} {'mean':>6} {'sd':>6} {'se':>6}  peers")
        for case in CASES:
            if case.name not in arguments.cases.split(","):
                continue
            data = simulated(case.name, arguments.seed)
            if data is not None:
                data.to_csv(folder / f"{case.name}.csv", index=False)
            elif not (folder / f"{case.name}.csv").exists():
                print(f"{case.name:12} left out: R or the package with these data is not installed")
                continue
            print(compare(case, folder, arguments), flush=True)


if __name__ == "__main__":
    main()
