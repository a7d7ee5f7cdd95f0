#!/usr/bin/env python3
"""Runs the tasks of docs/performance.md, ours and the peers', and prints one table of ratios.

usage: bench/tasks/run.py [BUILD_FOLDER [exact]]     (exact: only the fits without draws)
Writes BUILD_FOLDER/bench.json. NumPyro comes from PyPI into BUILD_FOLDER/peers, statsmodels and scikit-learn into
BUILD_FOLDER/exact-peers, R from Debian (r-base-core); the rows of what cannot be had are left out.
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["numpyro==0.22.0", "jax==0.10.2"]
EXACT_PACKAGES = ["statsmodels", "scikit-learn"]


def python_with(folder, module, packages):
    """A Python that has the packages, in a virtual environment made for them; None where they cannot be had."""
    python = folder / "bin" / "python"
    if not python.exists() and subprocess.run([sys.executable, "-m", "venv", folder]).returncode != 0:
        return None
    found = subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
    found = found or subprocess.run([python, "-m", "pip", "install", "--quiet", *packages]).returncode == 0
    return python if found else None


def machine():
    described = subprocess.run(["lscpu", "--json"], capture_output=True, text=True)
    fields = {}
    if described.returncode == 0:
        for field in json.loads(described.stdout)["lscpu"]:
            fields[field["field"].rstrip(":")] = field["data"]
    wanted = ("Model name", "CPU(s)", "L1d cache", "L2 cache", "L3 cache")
    return {"load": os.getloadavg()[0], **{key: fields[key] for key in wanted if key in fields}}


def first_within(path, target):
    return next((seconds for seconds, elbo in path if elbo >= target), None)


def time_to_half_a_nat(ours, peer):
    runs = [(run["seconds"], run["elbo"]) for run in ours["default"]["runs"]]
    best = max([ours["default"]["best"]] + [e for fit in peer["elbo_over_time"] for _, e in fit["path"]])
    mine = first_within(runs, best - 0.5)
    theirs = [t for t in (first_within(fit["path"], best - 0.5) for fit in peer["elbo_over_time"]) if t is not None]
    return best, mine, min(theirs) if theirs else None


def peer_rows(ours, peer):
    rows = []
    for name, label, wanted in (("ionosphere", "ionosphere 351 x 112, p = 4, 1 draw: NumPyro / magva, a step", 4),
                                ("horseshoe", "38 x 7,129 horseshoe, p = 4: NumPyro / magva, a step", 8),
                                ("spam", "4,601 x 105, p = 4, 8 draws: NumPyro / magva, a gradient", 2)):
        theirs = peer[name]["step"]
        rows.append((label, theirs / ours[name]["step"]["seconds"], ">=", wanted))
        if ours[name]["step_in_pairs"]:
            rows.append(("  with 4 antithetic pairs", theirs / ours[name]["step_in_pairs"]["seconds"], "", None))
        rows.append(("  with the guarded AdaDelta of the paper", theirs / ours[name]["guarded_step"]["seconds"], "", None))
        rows.append(("  with VAFC, whose factors are free like NumPyro's", theirs / ours[name]["vafc_step"]["seconds"], "", None))
    best, mine, theirs = time_to_half_a_nat(ours, peer)
    label = f"time to within .5 nats of {best:.2f}, ionosphere: NumPyro / magva default"
    if mine is None:
        rows.append((label + " (the default never is)", 0.0, ">=", 10))
    elif theirs is None:
        slowest = max(fit["path"][-1][0] for fit in peer["elbo_over_time"])
        rows.append((label + " (NumPyro never is; its longest run counts)", slowest / mine, ">=", 10))
    else:
        rows.append((label, theirs / mine, ">=", 10))
    return rows


def exact_rows(ours, peer):
    rows = []
    for name, label, wanted in (("exact_ionosphere", "ionosphere, rank 4, to the last step: draws / exact", 10),
                                ("exact_tall", "5,000 x 100 logistic, rank 4, to the last step: draws / exact", 20),
                                ("exact_wide", "38 x 7,129 logistic, normal prior, rank 4, to the last step: draws / exact", 10)):
        draws, exact = ours[name]["draws"], ours[name]["exact"]
        note = "" if exact["converged"] else " (not converged)"
        rows.append((label + note, draws["converged_after"] / exact["converged_after"], ">=", wanted))
        density = ours[name]["density"]
        rows.append(("  draws with curvature by differences of gradients / exact",
                     density["converged_after"] / exact["converged_after"], "", None))
        rows.append(("  whole fits of these", density["seconds"] / exact["seconds"], "", None))
        rows.append(("  whole fits, with what assesses them", draws["seconds"] / exact["seconds"], "", None))
        rows.append(("  the same in processor seconds", draws["processor_seconds"] / exact["processor_seconds"], "", None))
        rows.append(("  ELBO: exact - draws, nats", exact["elbo"] - draws["elbo"], ">=", -4 * draws["elbo_se"]))
    seconds = ours["exact_large"]["seconds"]
    to_converged = ours["exact_large"]["converged_after"]
    if "R glm" in peer:
        rows.append(("300,000 x 50 logistic, full rank: R's glm / magva", peer["R glm"]["seconds"] / seconds, ">=", 2))
    python = [peer[name]["seconds"] for name in ("statsmodels", "scikit-learn") if name in peer]
    if python:
        rows.append(("  the faster of statsmodels and scikit-learn / magva", min(python) / seconds, ">=", 1))
        rows.append(("  the same / magva to the last step, before it is assessed", min(python) / to_converged, "", None))
        processor = min(peer[name]["processor_seconds"] for name in ("statsmodels", "scikit-learn") if name in peer)
        rows.append(("  the same in processor seconds, whole fits",
                     processor / ours["exact_large"]["processor_seconds"], "", None))
    return rows


def exact_peers(build, folder):
    python = python_with(build / "exact-peers", "statsmodels, sklearn", EXACT_PACKAGES)
    if python is None:
        print("statsmodels and scikit-learn cannot be installed here: the comparison with them is left out.")
        return {}
    subprocess.run([python, HERE / "exact_peers.py", folder], check=True)
    return json.loads((folder / "exact_peers.json").read_text())


def our_rows(ours):
    of_rules = ours["step_over_gradient"]
    steps = {name: seconds / of_rules["gradient"] for name, seconds in of_rules["steps"].items()}
    default = "stiefel adadelta-stable"
    worst_doubling = lambda task: max(row.get("ratio", 0) for row in ours[task])
    rows = [
        ("100,000 x 1,000, p = 10: design bytes a second / read bandwidth, 1 thread", ours["streaming_1"]["share"], ">=", 0.8),
        ("  the same with 2 threads", ours["streaming_2"]["share"], ">=", 0.8),
        ("  400,000 x 100, p = 4, 1 thread", ours["streaming_narrow"]["share"], "", None),
        (f"a step / the model's gradient, ionosphere, {default}", steps[default], "<=", 1.5),
    ]
    rows += [(f"  {name}", ratio, "<=", 1.5) for name, ratio in steps.items() if name != default]
    rows += [
        ("largest cost as m doubles, 1,000 to 1,024,000, p = 10, 2 threads", worst_doubling("doublings_2"), "<=", 2.2),
        ("  the same with 1 thread", worst_doubling("doublings_1"), "<=", 2.2),
        ("  with the guarded AdaDelta of the paper, 2 threads", worst_doubling("guarded_doublings_2"), "<=", 2.2),
        ("peak memory at m = 1,000,000, p = 10, AdaDelta, GiB", ours["memory"]["peak_bytes"] / 2**30, "<=", 1),
        ("2 threads over 1, 100,000 x 100, 8 draws", ours["threads"]["ratio"], ">=", 1.6),
    ]
    for name in ("ionosphere", "horseshoe", "spam"):
        task = ours[name]
        # These designs stay in cache: memory's bandwidth is no floor, the processor's peak is.
        floor = task["floor"]["flops"] / ours["peak_flops"]
        rows.append((f"{name}: plain Eigen / magva, a step of VAFC with AdaDelta", task["plain_step"] / task["vafc_step"]["one_thread"], "", None))
        rows.append((f"{name}: a step / floor of flops, 1 thread", task["step"]["one_thread"] / floor, "", None))
    return rows


def print_table(rows):
    print(f"| {'task':90} | {'measured':>8} | {'wanted':>7} | |\n|---|---|---|---|")
    for label, value, sign, wanted in rows:
        met = "" if wanted is None else "yes" if (value >= wanted if sign == ">=" else value <= wanted) else "NO"
        goal = "" if wanted is None else f"{sign} {wanted:g}"
        print(f"| {label:90} | {value:8.2f} | {goal:>7} | {met} |")


def measure(build, folder, prefix):
    """Our tasks whose names begin with the prefix."""
    subprocess.run([build / "magva_tasks", ROOT / "data" / "ionosphere.csv", folder, *prefix], check=True)
    return json.loads((folder / "magva.json").read_text())


def all_rows(build, folder, ours):
    rows, peer = [], None
    python = python_with(build / "peers", "numpyro", PACKAGES)
    if python is None:
        print("NumPyro cannot be installed here: the comparison with it is left out.")
    else:
        subprocess.run([python, HERE / "numpyro_peer.py", folder], check=True)
        peer = json.loads((folder / "numpyro.json").read_text())
        rows += peer_rows(ours, peer)
    rows += exact_rows(ours, exact_peers(build, folder))
    return rows + our_rows(ours), peer


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build-bench").resolve()
    folder = build / "tasks"
    facts = machine()
    if sys.argv[2:] == ["exact"]:
        ours = measure(build, folder, ["exact"])
        rows, peer = exact_rows(ours, exact_peers(build, folder)), None
    else:
        ours = measure(build, folder, [])
        rows, peer = all_rows(build, folder, ours)
        facts["compiler"] = ours["compiler"]
    facts["load at the end"] = os.getloadavg()[0]
    print("; ".join(f"{key}: {value}" for key, value in facts.items()) + "\n")
    print_table(rows)
    table = [{"task": label.strip(), "measured": value, "wanted": f"{sign} {wanted}"} for label, value, sign, wanted in rows]
    (build / "bench.json").write_text(json.dumps({"machine": facts, "table": table, "magva": ours, "numpyro": peer}, indent=1))


main()
