"""Reads a CSV file with pyarrow on one thread and prints the same JSON line as csv_read."""
import json
import resource
import sys
import time

import pyarrow
import pyarrow.compute
import pyarrow.csv


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


pyarrow.set_cpu_count(1)
pyarrow.set_io_thread_count(1)
start = time.perf_counter()
start_cpu = cpu_seconds()
table = pyarrow.csv.read_csv(sys.argv[1], read_options=pyarrow.csv.ReadOptions(use_threads=False))
seconds = time.perf_counter() - start
cpu = cpu_seconds() - start_cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
total = sum(pyarrow.compute.sum(column).as_py() for column in table.columns)
print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "rows": table.num_rows, "columns": table.num_columns, "sum": total,
                  "peak_bytes": peak}))
