"""Runs haversine and NumPy in turn over one raw file and prints rows per second and the ratio."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent


def run_json(command):
    started = time.perf_counter()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output), time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rows", type=int, default=8_388_608)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    arguments = parser.parse_args()

    trips = arguments.scratch / "trips.raw"
    csv = arguments.scratch / "trips.csv"
    generate = [arguments.program, "--generate", str(arguments.rows), "--quiet"]
    subprocess.run([*generate, "--write-raw", trips], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([arguments.program, "--generate", str(arguments.rows // 4), "--quiet",
                    "--write-csv", csv], check=True, stdout=subprocess.DEVNULL)
    ours = [arguments.program, trips, "--device", "cpu", "--json", "--quiet"]
    runs = {
        "NumPy, in memory": [],
        "NumPy, from the file": [],
        "haversine, 1 thread, from the file": [],
        "haversine, all cores, from the file": [],
        "haversine, all cores, generated": [],
        "haversine, all cores, CSV": [],
    }
    # In turn, so that other load of the machine affects all of them.
    for _ in range(arguments.rounds):
        numpy, _ = run_json([sys.executable, HERE / "numpy_haversine.py", trips])
        runs["NumPy, in memory"].append(numpy["rows"] / numpy["computeSeconds"])
        runs["NumPy, from the file"].append(numpy["rows"] / numpy["seconds"])
        one, _ = run_json([*ours, "--threads", "1"])
        runs["haversine, 1 thread, from the file"].append(one["rowsPerSecond"])
        result, _ = run_json(ours)
        runs["haversine, all cores, from the file"].append(result["rowsPerSecond"])
        generated, _ = run_json([*generate, "--device", "cpu", "--json"])
        runs["haversine, all cores, generated"].append(generated["rowsPerSecond"])
        table, _ = run_json([arguments.program, csv, "--device", "cpu", "--json", "--quiet"])
        runs["haversine, all cores, CSV"].append(table["rowsPerSecond"])
        assert abs(result["meanKm"] - numpy["meanKm"]) < 1e-6, (result, numpy)
        assert result["histogramKm"] == numpy["histogramKm"], (result, numpy)

    base = statistics.median(runs["NumPy, in memory"])
    print(f"{arguments.rows:,} rows, median of {arguments.rounds}, {os.cpu_count()} cores, "
          f"{result['device']}, NumPy {numpy['numpy']}; same mean and histogram")
    print(f"{'':38}{'million rows/s':>15}{'× NumPy':>9}")
    for name, rates in runs.items():
        rate = statistics.median(rates)
        print(f"{name:38}{rate / 1e6:15.1f}{rate / base:9.1f}")


if __name__ == "__main__":
    main()
