#!/usr/bin/env python3
"""Fits a logistic regression to a design file on minibatches, with a limit on memory, and reports time, memory and error.

usage: bench/large/run.py [--rows N] [--columns N] [--element float64|float32] [--batch N] [--folder FOLDER] [--memory BYTES]
The file is made and removed again: rows x (columns + 1) x 8 bytes for float64. --memory limits the data segment and all
private memory (RLIMIT_DATA), which the mapped file is no part of.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build():
    subprocess.run(["cmake", "--preset", "bench"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "bench", "--target", "large_make", "magva_program"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    return ROOT / "build-bench"


def watch_private_memory(process, peak):
    """The largest RssAnon: memory of the process that is not the mapped file's."""
    status = pathlib.Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
            peak[0] = max(peak[0], int(lines.get("RssAnon", "0 kB").split()[0]) * 1024)
        except OSError:
            pass
        time.sleep(.1)


def coefficients(columns):
    return [-.5] + [(j % 7 - 3) / 20 for j in range(1, columns + 1)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=99)
    parser.add_argument("--element", choices=["float64", "float32"], default="float64")
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    parser.add_argument("--memory", type=int, default=2 * 10**9)
    parser.add_argument("--programs", type=pathlib.Path, default=None, help="a build folder, instead of building")
    options = parser.parse_args()
    programs = options.programs or build()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        file = pathlib.Path(folder) / "large.magva"
        began = time.monotonic()
        subprocess.run([programs / "large_make", file, str(options.rows), str(options.columns), options.element], check=True)
        print(f"{file.stat().st_size / 1e9:.2f} GB made in {time.monotonic() - began:.0f} s", flush=True)
        began = time.monotonic()
        limit = lambda: resource.setrlimit(resource.RLIMIT_DATA, (options.memory, options.memory))
        process = subprocess.Popen([programs / "magva", "fit", file, "--batch", str(options.batch), "--threads", str(options.threads),
                                    "--out", pathlib.Path(folder) / "fit"], preexec_fn=limit)
        peak = [0]
        watcher = threading.Thread(target=watch_private_memory, args=(process, peak))
        watcher.start()
        code = process.wait()
        watcher.join()
        seconds = time.monotonic() - began
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        record = json.loads((pathlib.Path(folder) / "fit" / "fit.json").read_text())
    print(f"exit code {code}, {seconds:.0f} s, private memory at most {peak[0] / 1e6:.0f} MB "
          f"(limit {options.memory / 1e6:.0f}), resident with the mapped file at most {usage.ru_maxrss / 1e6:.2f} GB")
    print(f"{record['stopped']}: {record['stop_detail']}; ELBO {record['elbo']:.2f} +- {record['elbo_se']:.2g}, k-hat {record['khat']:.2f}")
    z = [(p["mean"] - b) / p["sd"] for p, b in zip(record["parameters"], coefficients(options.columns))]
    rms = (sum(v * v for v in z) / len(z)) ** .5
    print(f"(estimate - truth) / sd: root mean square {rms:.2f}, largest {max(map(abs, z)):.2f}, of {len(z)} coefficients")
    return 0 if code == 0 and .7 < rms < 1.3 else 1


if __name__ == "__main__":
    sys.exit(main())
