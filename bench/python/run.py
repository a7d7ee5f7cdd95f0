#!/usr/bin/env python3
"""magva beside other ways to a posterior, on the ten models of models.py: errors of means and sds against NUTS, and
processor seconds, which a busy machine disturbs less than those of a clock.

usage: bench/python/run.py [--models NAME,...] [--methods NAME,...] [--results FILE] [--figure FILE]

A result is kept in FILE (build-bench/python.json) and not computed again. Prints the table of docs/python/benchmark.md; --figure
draws its picture. Needs the packages of bench/python/requirements.txt, and magva itself.
"""

import argparse
import json
import math
import pathlib
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from methods import METHODS, OURS, REFERENCE, NotForThisModelError  # noqa: E402
from models import MODELS  # noqa: E402


def measure(model, method):
    begin, cpu = time.perf_counter(), time.process_time()
    try:
        found = METHODS[method](model)
    except ImportError as error:
        return {"why": f"not installed: {error.name}"}
    except NotForThisModelError as error:
        return {"why": str(error)}
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    moments = {site: [np.ravel(mean).tolist(), np.ravel(sd).tolist()] for site, (mean, sd) in found.items()}
    return {"seconds": seconds, "cpu_seconds": cpu, "moments": moments}


def errors(found, reference):
    """Of means in posterior sds, and of log sds: root mean squares over all scalars of the model."""
    of_mean, of_sd = [], []
    for site, (mean, sd) in reference["moments"].items():
        own_mean, own_sd = (np.asarray(values) for values in found["moments"][site])
        of_mean.append((own_mean - mean) / sd)
        of_sd.append(np.log(np.maximum(own_sd, 1e-300) / sd))
    squares = [np.mean(np.square(np.concatenate(parts))) for parts in (of_mean, of_sd)]
    return math.sqrt(squares[0]), math.sqrt(squares[1]), math.sqrt(sum(squares))


def all_results(models, methods, path):
    results = json.loads(path.read_text()) if path.exists() else {}
    for model in models:
        for method in methods:
            if method not in results.setdefault(model, {}):
                results[model][method] = measure(model, method)
                print(model, method, results[model][method].get("cpu_seconds", results[model][method].get("why")), file=sys.stderr)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(results))
    return {model: {method: results[model][method] for method in methods if method in results[model]} for model in models}


def cell(result, reference):
    if "why" in result:
        return "-"
    of_mean, of_sd, _ = errors(result, reference)
    return f"{of_mean:.2f}, {of_sd:.2f}; {result['cpu_seconds']:.0f} s"


def print_table(results):
    methods = [method for method in METHODS if any(method in found for found in results.values())]
    print("| model | " + " | ".join(methods) + " |\n" + "|---" * (1 + len(methods)) + "|")
    for model, found in results.items():
        reference = found[REFERENCE]
        cells = [f"{reference['cpu_seconds']:.0f} s" if method == REFERENCE else cell(found[method], reference) for method in methods]
        print(f"| {model.replace('_', ' ')} | " + " | ".join(cells) + " |")
    print_totals(results)


def print_totals(results):
    best = faster = 0
    for found in results.values():
        total = {method: errors(one, found[REFERENCE])[2] for method, one in found.items() if "why" not in one and method != REFERENCE}
        best += total[OURS] == min(total.values())
        faster += found[REFERENCE]["cpu_seconds"] > 10 * found[OURS]["cpu_seconds"]
    print(f"\nmost accurate of the variational ones on {best} of {len(results)}; 10 times faster than NUTS on {faster}")


def draw(results, path):
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "magva"
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for k, method in enumerate(method for method in METHODS if method != REFERENCE):
        points = []
        for found in results.values():
            one = found.get(method, {"why": ""})
            if "why" not in one:
                points.append((found[REFERENCE]["cpu_seconds"] / one["cpu_seconds"], errors(one, found[REFERENCE])[2]))
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
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("build-bench/python.json"))
    parser.add_argument("--figure", type=pathlib.Path)
    given = parser.parse_args()
    wanted = names(given.methods, METHODS)
    results = all_results(names(given.models, MODELS), [REFERENCE, OURS, *(m for m in wanted if m not in (REFERENCE, OURS))], given.results)
    print_table(results)
    if given.figure:
        draw(results, given.figure)


if __name__ == "__main__":
    main()
