#!/usr/bin/env python3
"""Times magva's CSV reader against pyarrow's, both on one thread, on a file of numbers that it makes and removes.

usage: bench/csv/run.py [--bytes N] [--columns N] [--repeats N] [--venv FOLDER]
The readers take turns, the file lies in the page cache, and the fastest run of each counts. Processor time is printed as
well, since it says more than time on the wall where others use the machine. The sums must agree.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent


def build():
    subprocess.run(["cmake", "--preset", "bench"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "bench", "--target", "csv_make", "csv_read"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    return ROOT / "build-bench"


def pyarrow_python(folder):
    """A Python that has pyarrow, in a virtual environment made for it; None where it cannot be had."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    found = subprocess.run([python, "-c", "import pyarrow"], capture_output=True).returncode == 0
    found = found or subprocess.run([python, "-m", "pip", "install", "--quiet", "pyarrow"]).returncode == 0
    return python if found else None


def run(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def report(name, runs, size):
    best = min(runs, key=lambda r: r["seconds"])
    matrix = 8 * best["rows"] * best["columns"]
    peak = max(r["peak_bytes"] for r in runs)
    cpu = min(r["cpu_seconds"] for r in runs)
    print(f"{name:8} {best['seconds']:7.2f} s  {size / best['seconds'] / 1e6:7.0f} MB/s  processor {cpu:6.2f} s  "
          f"peak {peak / 1e6:6.0f} MB = {peak / matrix:.2f} x the matrix")
    return best["seconds"], cpu


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", type=int, default=10**9)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / ".venv-bench")
    options = parser.parse_args()
    programs = build()
    python = pyarrow_python(options.venv)
    if python is None:
        print("pyarrow cannot be installed here: only magva's reader is timed")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "numbers.csv"
        subprocess.run([programs / "csv_make", file, str(options.bytes), str(options.columns)], check=True)
        size = file.stat().st_size
        ours, theirs = [], []
        for _ in range(options.repeats):
            ours.append(run([programs / "csv_read", file]))
            if python is not None:
                theirs.append(run([python, HERE / "pyarrow_read.py", file]))
    print(f"{size / 1e9:.2f} GB, {ours[0]['rows']} rows, {ours[0]['columns']} columns; fastest of {options.repeats}, one thread")
    wall, cpu = report("magva", ours, size)
    if not theirs:
        return 0
    other_wall, other_cpu = report("pyarrow", theirs, size)
    print(f"speed of magva / speed of pyarrow: {other_wall / wall:.2f} by the wall, {other_cpu / cpu:.2f} by processor time")
    same = all(ours[0][key] == theirs[0][key] for key in ("rows", "columns")) and abs(ours[0]["sum"] - theirs[0]["sum"]) < 1e-3
    if not same:
        print("the readers disagree about what the file holds")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
