#!/usr/bin/env python3
"""Maximum likelihood by the peers on the 300,000 x 50 logistic regression: statsmodels' GLM, scikit-learn's unpenalised
L-BFGS, R's glm.

usage: exact_peers.py FOLDER     (with large-x.npy, large-y.npy and magva's large-mean.npy; writes FOLDER/exact_peers.json)
Only the fits are timed. Each must agree with magva's posterior mean within a few hundredths: the prior is weak.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np

R_SCRIPT = """
folder <- commandArgs(TRUE)[1]
n <- {rows}; m <- {cols}
x <- matrix(readBin(file.path(folder, "large-x.bin"), "double", n * m), n, m)
y <- readBin(file.path(folder, "large-y.bin"), "double", n)
seconds <- system.time(fit <- glm(y ~ x - 1, family = binomial()))
cat(seconds[["elapsed"]], seconds[["user.self"]] + seconds[["sys.self"]], coef(fit))
"""


def fastest(fit, times=2):
    best = processor = np.inf
    for _ in range(times):
        start, begin = time.perf_counter(), time.process_time()
        coefficients = fit()
        best = min(best, time.perf_counter() - start)
        processor = min(processor, time.process_time() - begin)
    return best, processor, np.ravel(coefficients)


def statsmodels(x, y):
    import statsmodels.api as sm
    return fastest(lambda: sm.GLM(y, x, family=sm.families.Binomial()).fit().params)


def sklearn(x, y):
    from sklearn.linear_model import LogisticRegression
    model = LogisticRegression(C=np.inf, solver="lbfgs", fit_intercept=False, max_iter=1000)
    return fastest(lambda: model.fit(x, y).coef_)


def r_glm(folder, x, y):
    np.asfortranarray(x).ravel(order="F").tofile(folder / "large-x.bin")
    y.tofile(folder / "large-y.bin")
    script = folder / "glm.R"
    script.write_text(R_SCRIPT.format(rows=len(y), cols=x.shape[1]))
    output = subprocess.run(["Rscript", script, folder], check=True, capture_output=True, text=True).stdout.split()
    return float(output[0]), float(output[1]), np.array([float(word) for word in output[2:]])


def main():
    folder = pathlib.Path(sys.argv[1])
    x, y = np.load(folder / "large-x.npy"), np.load(folder / "large-y.npy").ravel()
    mean = np.load(folder / "large-mean.npy").ravel()
    peers = {"statsmodels": lambda: statsmodels(x, y), "scikit-learn": lambda: sklearn(x, y)}
    if shutil.which("Rscript"):
        peers["R glm"] = lambda: r_glm(folder, x, y)
    out = {}
    for name, fit in peers.items():
        seconds, processor, coefficients = fit()
        difference = float(np.abs(coefficients - mean).max())
        if difference > 0.05:
            sys.exit(f"{name} and magva differ by {difference:.3g} in a coefficient")
        out[name] = {"seconds": seconds, "processor_seconds": processor, "difference": difference}
    (folder / "exact_peers.json").write_text(json.dumps(out, indent=1))


main()
