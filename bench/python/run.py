#!/usr/bin/env python3
"""magva beside other ways to a posterior, on the ten models of models.py: errors of means and sds against a long run of NUTS, and
processor seconds, which a busy machine disturbs less than those of a clock.

usage: bench/python/run.py [--models NAME,...] [--methods NAME,...] [--again] [--results FILE] [--figure FILE]

Each method runs in a process of its own, on one thread, with nothing compiled before; what its imports take does not count. A result is
kept in FILE (build-bench/python.json) and not computed again, unless --again says so. Prints the tables of docs/python/benchmark.md for
all that is there; --figure draws its picture. Needs the packages of bench/python/requirements.txt, and magva itself.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from methods import METHODS, OURS, REFERENCE, NotForThisModelError  # noqa: E402
from models import MODELS  # noqa: E402

# Of OpenBLAS, OpenMP and XLA: threads that wait for each other would count as work.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NPROC": "1"}


def measure(model, method):
    """In a new process, whose compilers find nothing that an earlier one has kept."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--measure", model, method, f"{folder}/result.json"]
        flags = os.environ.get("PYTENSOR_FLAGS", "")
        kept_nowhere = {"PYTENSOR_FLAGS": f"{flags}{',' if flags else ''}base_compiledir={folder}/pytensor"}
        subprocess.run(command, check=True, env={**os.environ, **ONE_THREAD, **kept_nowhere})
        return json.loads(pathlib.Path(folder, "result.json").read_text())


def measure_here(model, method):
    import jax
    from stopwatch import Stopwatch

    jax.jit(lambda x: x + 1)(1.0)  # JAX itself is there
    watch = Stopwatch()
    try:
        with watch.running():
            found = METHODS[method](model, watch)
    except ImportError as error:
        return {"why": f"not installed: {error.name}"}
    except NotForThisModelError as error:
        return {"why": str(error)}
    moments = {site: [np.ravel(mean).tolist(), np.ravel(sd).tolist()] for site, (mean, sd) in found.items()}
    return {"cpu_seconds": watch.seconds, "compiling": watch.compiled, "moments": moments}


def errors(found, reference):
    """Of means in posterior sds, and of log sds: root mean squares over all scalars of the model."""
    of_mean, of_sd = [], []
    for site, (mean, sd) in reference["moments"].items():
        own_mean, own_sd = (np.asarray(values) for values in found["moments"][site])
        of_mean.append((own_mean - mean) / sd)
        of_sd.append(np.log(np.maximum(own_sd, 1e-300) / sd))
    squares = [np.mean(np.square(np.concatenate(parts))) for parts in (of_mean, of_sd)]
    return math.sqrt(squares[0]), math.sqrt(squares[1]), math.sqrt(sum(squares))


def all_results(models, methods, path, again):
    results = json.loads(path.read_text()) if path.exists() else {}
    for model in models:
        found = results.setdefault(model, {})
        for method in methods:
            if again or method not in found:
                found[method] = measure(model, method)
                print(model, method, found[method].get("cpu_seconds", found[method].get("why")), file=sys.stderr)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(results))
    return {model: results[model] for model in models}


def variational(found):
    return {method: one for method, one in found.items() if "why" not in one and method != REFERENCE}


def rows(results, methods, cell):
    print("| model | " + " | ".join(methods) + " |\n" + "|---" * (1 + len(methods)) + "|")
    for model, found in results.items():
        cells = ["-" if "why" in found.get(method, {"why": ""}) else cell(found[method], found[REFERENCE]) for method in methods]
        print(f"| {model.replace('_', ' ')} | " + " | ".join(cells) + " |")
    print()


def print_tables(results):
    methods = [method for method in METHODS if any(method in found for found in results.values())]

    def accuracy(one, reference):
        return "{:.2f}, {:.2f}".format(*errors(one, reference))

    def seconds(one, _reference):
        return f"{one['cpu_seconds']:.1f} ({one['cpu_seconds'] - one['compiling']:.1f})"

    methods = [OURS, *(method for method in methods if method != OURS)]
    rows(results, [method for method in methods if method != REFERENCE], accuracy)
    rows(results, methods, seconds)
    print_totals(results)


def print_totals(results):
    best, faster, faster_compiled = 0, 0, 0
    for found in results.values():
        total = {method: errors(one, found[REFERENCE])[2] for method, one in variational(found).items()}
        best += total[OURS] == min(total.values())
        ours, nuts = found[OURS], found[REFERENCE]
        faster += nuts["cpu_seconds"] > 10 * ours["cpu_seconds"]
        faster_compiled += nuts["cpu_seconds"] - nuts["compiling"] > 10 * (ours["cpu_seconds"] - ours["compiling"])
    print(f"most accurate of the variational ones on {best} of {len(results)}")
    print(f"10 times faster than NUTS on {faster}, and on {faster_compiled} if compiling does not count")


def draw(results, path):
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "magva"
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for k, method in enumerate(method for method in METHODS if method != REFERENCE):
        points = [
            (found[REFERENCE]["cpu_seconds"] / found[method]["cpu_seconds"], errors(found[method], found[REFERENCE])[2])
            for found in results.values()
            if method in variational(found)
        ]
        if points:
            axis.scatter(*zip(*points, strict=True), label=method, s=60 if method == OURS else 22, marker="os^Dv<"[k], alpha=0.8)
    axis.set(xscale="log", yscale="log", xlabel="times as fast as NUTS", ylabel="error of means and sds")
    axis.axvline(1, color="grey", linewidth=0.8)
    axis.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def names(text, known):
    found = list(known) if text is None else [name.strip() for name in text.split(",")]
    unknown = [name for name in found if name not in known]
    if unknown:
        sys.exit(f"there is no '{unknown[0]}': {', '.join(known)}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models")
    parser.add_argument("--methods")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("build-bench/python.json"))
    parser.add_argument("--figure", type=pathlib.Path)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        model, method, file = given.measure
        pathlib.Path(file).write_text(json.dumps(measure_here(model, method)))
        return
    results = all_results(names(given.models, MODELS), names(given.methods, METHODS), given.results, given.again)
    results = {model: found for model, found in results.items() if REFERENCE in found and OURS in found}
    print_tables(results)
    if given.figure:
        draw(results, given.figure)


if __name__ == "__main__":
    main()
