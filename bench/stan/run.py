#!/usr/bin/env python3
"""The default on Stan programs of posteriordb, for several seeds, beside posteriordb's reference draws.

    git clone https://github.com/stan-dev/posteriordb
    BRIDGESTAN=... bench/stan/run.py build/magva posteriordb --set hierarchical
    BRIDGESTAN=... bench/stan/run.py build/magva posteriordb eight_schools-eight_schools_noncentered --seeds 1
    pip install nutpie bridgestan && BRIDGESTAN=... bench/stan/run.py build/magva posteriordb --set hierarchical --nuts FOLDER

One line a fit: ELBO, family, k-hat, verdict, seconds by the clock and of processors, gradients, and where there are reference
draws the worst error of a mean, in posterior sds, and of an sd, as a logarithm; at the end their medians, and how many verdicts
were wrong. On a busy machine only the processors' seconds say something. `--set reference`
is all posteriors with reference draws. A fit is *misleading* where it is called
trusted without a warning and a mean is off by more than .25 sds or an sd by more than 25 %; it is *doubted needlessly*
where it is not trusted although all means are within .1 sds and all sds within 10 %. Programs are compiled before
they are timed. With `--nuts`, posteriors without reference draws have those of nutpie's NUTS, four chains of 4,000 after 1,000
to warm up; what it finds, and the processor seconds that it takes, are kept in the folder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MISLEADING = 0.25
RIGHT = 0.1

SETS = {
    # 90 to 8,000 parameters, and two small ones with hard posteriors.
    "hierarchical": [
        "irt_2pl-irt_2pl",
        "radon_all-radon_hierarchical_intercept_centered",
        "radon_all-radon_variable_intercept_slope_noncentered",
        "uk_drivers-state_space_stochastic_level_stochastic_seasonal",
        "traffic_accident_nyc-bym2_offset_only",
        "ovarian-logistic_regression_rhs",
        "election88-election88_full",
        "mnist_100-nn_rbm1bJ10",
        "one_comp_mm_elim_abs-one_comp_mm_elim_abs",
        "bball_drive_event_0-hmm_drive_0",
    ],
    # Fewer than 100 parameters, all with reference draws.
    "small": [
        "arK-arK",
        "arma-arma11",
        "diamonds-diamonds",
        "earnings-logearn_interaction",
        "eight_schools-eight_schools_noncentered",
        "garch-garch11",
        "gp_pois_regr-gp_pois_regr",
        "gp_pois_regr-gp_regr",
        "hmm_example-hmm_example",
        "hudson_lynx_hare-lotka_volterra",
        "kidiq-kidscore_momhsiq",
        "low_dim_gauss_mix-low_dim_gauss_mix",
        "mesquite-logmesquite_logvash",
        "nes1988-nes",
        "sblrc-blr",
    ],
}


REFERENCE = "reference"  # all that have reference draws


def names_of(choice: str, database: Path) -> list[str]:
    """The posteriors of a set.

    >>> names_of("small", Path("posteriordb/posterior_database"))[0]
    'arK-arK'
    """
    if choice != REFERENCE:
        return SETS[choice]
    draws = database / "reference_posteriors" / "draws" / "draws"
    return sorted(file.name.removesuffix(".json.zip") for file in draws.glob("*.json.zip"))


def read_zip(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(archive.namelist()[0])


@dataclass
class Posterior:
    name: str
    program: Path
    data: Path
    reference: dict[str, tuple[float, float]]  # mean and sd of each parameter; empty where there are no draws

    @staticmethod
    def read(name: str, database: Path, folder: Path) -> Posterior:
        entry = json.loads((database / "posteriors" / f"{name}.json").read_text())
        data = folder / f"{name}.json"
        data.write_bytes(read_zip(database / "data" / "data" / f"{entry['data_name']}.json.zip"))
        draws = database / "reference_posteriors" / "draws" / "draws" / f"{entry.get('reference_posterior_name')}.json.zip"
        return Posterior(name, database / "models" / "stan" / f"{entry['model_name']}.stan", data, read_reference(draws))


def read_reference(path: Path) -> dict[str, tuple[float, float]]:
    if not path.exists():
        return {}
    chains = json.loads(read_zip(path))
    moments = {}
    for parameter in chains[0]:
        values = np.concatenate([chain[parameter] for chain in chains])
        moments[parameter] = (float(values.mean()), float(values.std(ddof=1)))
    return moments


def moments_by_nuts(posterior: Posterior, folder: Path) -> dict[str, tuple[float, float]]:
    """Of all parameters of a program, as nutpie's NUTS finds them, or has found them before."""
    kept = folder / f"{posterior.name}.json"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(run_nuts(posterior)))
    found = json.loads(kept.read_text())
    print(f"{posterior.name}: NUTS took {found['seconds']:.1f} processor seconds, R-hat up to {found['rhat']:.3f}, "
          f"{found['effective']:.0f} effective draws at least, {found['divergent']} divergent", flush=True)  # fmt: skip
    return {name: tuple(moments) for name, moments in found["moments"].items()}


def run_nuts(posterior: Posterior) -> dict[str, Any]:
    import arviz
    import bridgestan
    import nutpie

    bridgestan.set_bridgestan_path(os.environ["BRIDGESTAN"])
    model = nutpie.compile_stan_model(filename=str(posterior.program)).with_data(**json.loads(posterior.data.read_text()))
    begin = time.process_time()
    trace = nutpie.sample(model, draws=4000, tune=1000, chains=4, cores=2, seed=1, progress_bar=False)
    seconds = time.process_time() - begin
    moments = {}
    for name, values in trace.posterior.items():
        draws = values.to_numpy().reshape(-1, *values.shape[2:])
        for index in np.ndindex(*draws.shape[1:]):
            label = f"{name}[{','.join(str(i + 1) for i in index)}]" if index else name
            column = draws[(slice(None), *index)]
            moments[label] = (float(column.mean()), float(column.std(ddof=1)))
    moving = trace.posterior[[name for name, values in trace.posterior.items() if float(values.std()) > 0]]
    return {
        "moments": moments,
        "seconds": seconds,
        "rhat": max(float(v.max()) for v in arviz.rhat(moving).values()),
        "effective": min(float(v.min()) for v in arviz.ess(moving).values()),
        "divergent": int(trace.sample_stats["diverging"].sum()),
    }


@dataclass
class Outcome:
    record: dict[str, Any]
    seconds: float  # of the whole process, by the clock
    processor_seconds: float  # user and system
    trusted: bool
    mean_error: float  # NaN without a reference
    sd_error: float

    @property
    def plain(self) -> bool:
        return self.trusted and not self.record["warnings"]

    @property
    def error(self) -> float:
        return max(self.mean_error, math.expm1(self.sd_error))

    @property
    def misleading(self) -> bool:
        return self.plain and self.error > MISLEADING

    @property
    def needless(self) -> bool:
        return not self.trusted and self.error <= RIGHT

    def verdict(self) -> str:
        said = "trusted" if self.plain else "trusted with a warning" if self.trusted else "not trusted"
        return said + (", MISLEADING" if self.misleading else ", NEEDLESSLY" if self.needless else "")


def worst_errors(parameters: list[dict[str, Any]], reference: dict[str, tuple[float, float]]) -> tuple[float, float]:
    both = [(p, *reference[p["name"]]) for p in parameters if p["name"] in reference]
    if not both:
        return math.nan, math.nan
    return (
        max(abs(p["mean"] - mean) / sd for p, mean, sd in both),
        max(abs(math.log(max(p["sd"], 1e-300) / sd)) for p, _, sd in both),
    )


def processor_seconds() -> float:
    """Of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fit(program: str, posterior: Posterior, seed: int, extra: list[str], folder: Path) -> Outcome | None:
    out = folder / "fit"
    command = [
        program,
        "fit",
        str(posterior.program),
        "--data",
        str(posterior.data),
        "--seed",
        str(seed),
        "--out",
        str(out),
        "--force",
        "--quiet",
        *extra,
    ]
    begin, begin_processor = time.perf_counter(), processor_seconds()
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds, processor = time.perf_counter() - begin, processor_seconds() - begin_processor
    if run.returncode not in (0, 3):
        print(f"{posterior.name}: exit {run.returncode}: {run.stderr.strip()}", file=sys.stderr)
        return None
    record = json.loads((out / "fit.json").read_text())
    return Outcome(record, seconds, processor, run.returncode == 0, *worst_errors(record["parameters"], posterior.reference))


def number(value: float | None) -> float:
    return math.nan if value is None else value


def show(posterior: Posterior, seed: int, outcome: Outcome, warnings: bool) -> None:
    r = outcome.record
    print(
        f"{posterior.name:62} {seed:4} {number(r['elbo']):12.2f} {r['family']:>10} {r['rank']:5} {number(r['khat']):6.2f} "
        f"{outcome.seconds:7.2f} {outcome.processor_seconds:9.3f} {r['gradient_evaluations']:9} "
        f"{outcome.mean_error:6.3f} {outcome.sd_error:6.3f}  {r['stopped']}, {outcome.verdict()}",
        flush=True,
    )
    if warnings:
        for warning in r["warnings"]:
            print(f"    {warning}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("posteriordb", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", choices=sorted([*SETS, REFERENCE]))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--warnings", action="store_true", help="print each fit's warnings")
    parser.add_argument("--fit-options", default="", help="given to every fit, such as '--rank 0'")
    parser.add_argument("--nuts", type=Path, metavar="FOLDER", help="compare with NUTS where there are no reference draws")
    options = parser.parse_args()
    database = options.posteriordb / "posterior_database"
    names = options.names + (names_of(options.set, database) if options.set else [])
    extra = options.fit_options.split()
    outcomes: list[Outcome] = []
    print(f"{'posterior':62} seed {'ELBO':>12} {'family':>10}  rank  k-hat seconds processor gradients   mean log sd  verdict")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in names:
            posterior = Posterior.read(name, database, folder)
            if options.nuts and not posterior.reference:
                posterior.reference = moments_by_nuts(posterior, options.nuts)
            fit(options.program, posterior, 1, ["--time-limit", "1"], folder)  # compiles
            for seed in options.seeds:
                outcome = fit(options.program, posterior, seed, extra, folder)
                if outcome is None:
                    continue
                outcomes.append(outcome)
                show(posterior, seed, outcome, options.warnings)
    known = [o for o in outcomes if not math.isnan(o.mean_error)]
    if known:
        print(
            f"medians of {len(known)} fits: mean {np.median([o.mean_error for o in known]):.3f}, "
            f"log sd {np.median([o.sd_error for o in known]):.3f}, seconds {np.median([o.seconds for o in known]):.2f}, "
            f"processor seconds {np.median([o.processor_seconds for o in known]):.3f}; "
            f"{sum(o.misleading for o in known)} misleading, {sum(o.needless for o in known)} doubted needlessly"
        )


if __name__ == "__main__":
    main()
