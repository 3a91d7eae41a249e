"""The checks and measurements of tools/gpu-check run: one JSON file, a short table on stdout.

A step that fails is recorded and does not end the others.
"""

import array
import concurrent.futures
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

YEAR_ROWS = 146_112_989
ROUNDS = 3
KERNEL_METRICS = [
    "gpu__time_duration.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum",
    "smsp__inst_executed.sum",
    "launch__registers_per_thread",
]

CUPY = """
import sys, json, cupy
rows = int(sys.argv[1])
@cupy.fuse()
def haversine(a, b, c, d):
    k = cupy.pi / 180
    x = cupy.sin((d - b) * (k / 2)); y = cupy.sin((c - a) * (k / 2))
    h = x * x + cupy.cos(b * k) * cupy.cos(d * k) * y * y
    return 2 * 6371.0 * cupy.arcsin(cupy.sqrt(h))
cupy.random.seed(1)
a = -74.05 + 0.3 * cupy.random.random(rows); b = 40.58 + 0.32 * cupy.random.random(rows)
c = a + 0.1 * (cupy.random.random(rows) - 0.5); d = b + 0.1 * (cupy.random.random(rows) - 0.5)
times = {"distances": [], "withSummary": []}
for what in times:
    for i in range(6):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        km = haversine(a, b, c, d)
        if what == "withSummary":
            km.sum(); km.max(); cupy.histogram(km, bins=41, range=(0.0, 41.0))
        stop.record(); stop.synchronize()
        if i: times[what].append(cupy.cuda.get_elapsed_time(start, stop) / 1e3)
print(json.dumps({"version": cupy.__version__,
                  **{k: rows / sorted(v)[len(v) // 2] for k, v in times.items()}}))
"""


class Check:
    def __init__(self, folder, scratch):
        self.folder = folder.resolve()
        self.scratch = scratch
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(self.folder / "lib")}
        self.report = {"checks": {}, "speed": {}}
        self.failed = []

    def run(self, *command, timeout=120, own=True):
        if own:
            command = (self.folder / command[0], *command[1:])
        return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                              timeout=timeout, env=self.environment if own else None)

    def haversine(self, device, *arguments, timeout=120):
        """The exit status and the report, or the message on standard error."""
        program = "haversine" if device == "cpu" else "haversine-cuda"
        done = self.run(program, *arguments, "--device", device, "--json", "--quiet",
                        timeout=timeout)
        text = done.stdout if done.returncode == 0 else done.stderr
        return done.returncode, json.loads(text) if done.returncode == 0 else text.strip()

    def check(self, name, problem):
        self.report["checks"][name] = problem or "ok"
        print(f"{name}: {problem or 'ok'}", flush=True)
        if problem:
            self.failed.append(name)

    def step(self, name, work):
        started = time.monotonic()
        try:
            work()
        except Exception as error:  # noqa: BLE001 - recorded, and the other steps go on
            self.check(name, f"{type(error).__name__}: {error}")
        print(f"[{name}: {time.monotonic() - started:.0f} s]", flush=True)

    # --- correctness

    def same_result(self, name, *arguments, timeout=120):
        """The processor and the GPU give the same counts, histogram, mean and maximum."""
        cpu_status, cpu = self.haversine("cpu", *arguments, timeout=timeout)
        gpu_status, gpu = self.haversine("gpu", *arguments, timeout=timeout)
        if cpu_status != gpu_status:
            return self.check(name, f"exit {cpu_status} on the processor, {gpu_status}: {gpu}")
        if cpu_status != 0:
            return self.check(name, None if cpu == gpu else f"{cpu!r} against {gpu!r}")
        for key, value in cpu.items():
            if key in ("seconds", "rowsPerSecond", "device", "worstDifferenceKm"):
                continue
            other = gpu.get(key)
            if key in ("meanKm", "maxKm"):
                if not math.isclose(value, other, rel_tol=1e-12):
                    return self.check(name, f"{key}: {value!r} against {other!r}")
            elif value != other:
                return self.check(name, f"{key}: {value} against {other}")
        return self.check(name, None)

    def correctness(self):
        status, report = self.haversine("gpu", "--generate", 1_000_000, "--check", 10_000)
        self.check("a million rows against the reference",
                   None if status == 0 else f"exit {status}: {report}")
        csv = self.scratch / "trips.csv"
        self.run("haversine", "--generate", 1_000_003, "--write-csv", csv, "--quiet")
        lines = csv.read_text().splitlines()
        random.seed(1)
        bad = ["x,1,2,3", ",,,", "1,2", "", "0,0,0,0", "181,91,0.5,1", "nan,1,2,3", "1e400,1,2,3"]
        mixed = [lines[0]]
        for line in lines[1:200_001]:
            mixed.append(line)
            if random.random() < 0.1:
                mixed.append(random.choice(bad))
        files = {
            "malformed rows": "\n".join(mixed) + "\n",
            "nothing but a header": lines[0] + "\n",
            "an empty file": "",
            "no header": "\n".join(lines[1:10]) + "\n",
            "one row": "\n".join(lines[:2]) + "\n",
            "three rows, no end of line": "\n".join(lines[:4]),
        }
        self.same_result("CSV", csv)
        for name, text in files.items():
            path = self.scratch / "case.csv"
            path.write_text(text)
            self.same_result(name, path)
        for rows in (1, 2, 3, 511, 513, 262_143, 262_145, 2 * 262_144 + 77):
            self.same_result(f"{rows} rows", "--generate", rows, "--check", rows)
        self.same_result("the year", "--generate", YEAR_ROWS, "--check", 1000)
        self.distances()

    def distances(self):
        raw = self.scratch / "trips.raw"
        self.run("haversine", "--generate", 3_000_001, "--write-raw", raw, "--quiet")
        outputs = {}
        for device in ("cpu", "gpu"):
            outputs[device] = self.scratch / f"{device}.f64"
            status, report = self.haversine(device, raw, "--distances", outputs[device])
            if status != 0:
                return self.check("distances", f"exit {status}: {report}")
        values = {}
        for device, path in outputs.items():
            values[device] = array.array("d")
            values[device].frombytes(path.read_bytes())
        worst = max(abs(a - b) for a, b in zip(values["cpu"], values["gpu"], strict=True))
        self.report["worstDifferenceKm"] = worst
        return self.check("distances", None if worst < 1e-9 else f"differ by {worst} km")

    def sanitizer(self):
        if not shutil.which("compute-sanitizer"):
            self.report["sanitizer"] = "not installed"
            return
        for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
            done = subprocess.run(
                ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9",
                 self.folder / "haversine-cuda", "--generate", "600001", "--device", "gpu",
                 "--check", "100", "--threads", "2", "--quiet"],
                capture_output=True, text=True, timeout=120, env=self.environment)
            tail = (done.stdout + done.stderr)[-600:]
            self.check(f"compute-sanitizer {tool}", None if done.returncode == 0 else tail)

    # --- speed

    def rates(self):
        done = self.run("haversine-gpu-rates", timeout=180)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        self.report["rates"] = json.loads(done.stdout)
        print(done.stdout, flush=True)

    def program(self):
        raw = self.scratch / "large.raw"
        csv = self.scratch / "large.csv"
        rows = 268_435_456
        self.run("haversine", "--generate", rows, "--write-raw", raw, "--quiet")
        self.run("haversine", "--generate", rows // 8, "--write-csv", csv, "--quiet")
        inputs = {"generated": ["--generate", YEAR_ROWS], "raw": [raw], "csv": [csv]}
        for name, arguments in inputs.items():
            rates = {"cpu": [], "gpu": []}
            for _ in range(ROUNDS):
                for device, results in rates.items():
                    status, report = self.haversine(device, *arguments)
                    if status != 0:
                        raise RuntimeError(report)
                    results.append(report["rowsPerSecond"])
            medians = {device: statistics.median(values) for device, values in rates.items()}
            self.report["speed"][name] = medians
            print(f"{name}: cpu {medians['cpu']:.4g}, gpu {medians['gpu']:.4g} rows/s", flush=True)

        self.report["speed"]["secondsOfOneRow"] = statistics.median(
            self.haversine("gpu", "--generate", 1)[1]["seconds"] for _ in range(ROUNDS))
        threads = {}
        for count in (2, 4, 8, 16):
            threads[count] = self.haversine("gpu", raw, "--threads", count)[1]["rowsPerSecond"]
        self.report["speed"]["rawByThreads"] = threads
        print(f"one row {self.report['speed']['secondsOfOneRow']} s, raw by threads {threads}",
              flush=True)

        def gpu_run():
            return self.haversine("gpu", raw, "--threads", 5)[1]["rowsPerSecond"]

        alone = statistics.median(gpu_run() for _ in range(ROUNDS))
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            together = list(pool.map(lambda _: gpu_run(), range(3)))
        self.report["speed"]["threeProcesses"] = {"alone": alone, "together": together}
        print(f"three processes: alone {alone:.4g}, together {together}", flush=True)

    def cupy(self):
        done = self.run(sys.executable, "-c", CUPY, 1 << 26, own=False)
        self.report["cupy"] = json.loads(done.stdout) if done.returncode == 0 else done.stderr[-300:]
        print("CuPy:", self.report["cupy"], flush=True)

    def profile(self):
        if not shutil.which("ncu"):
            self.report["profile"] = "not installed"
            return
        done = subprocess.run(
            ["ncu", "--clock-control", "none", "--csv", "--kernel-name", "regex:ComputeDistances",
             "--launch-skip", "29", "--launch-count", "2", "--metrics", ",".join(KERNEL_METRICS),
             self.folder / "haversine-gpu-rates", str(1 << 26)],
            capture_output=True, text=True, timeout=180, env=self.environment)
        rows = [line for line in done.stdout.splitlines() if line.startswith('"')]
        self.report["profile"] = rows or (done.stdout + done.stderr)[-600:]
        print("\n".join(rows) if rows else self.report["profile"], flush=True)


def main():
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        check = Check(folder, pathlib.Path(scratch))
        status, message = check.haversine("gpu", "--generate", 1000)
        if status == 77:
            print(message)
            return 77
        check.step("correctness", check.correctness)
        check.step("rates", check.rates)
        check.step("program", check.program)
        check.step("CuPy", check.cupy)
        check.step("profile", check.profile)
        check.step("sanitizer", check.sanitizer)
        output.write_text(json.dumps(check.report, indent=1) + "\n")
    print("failed:", check.failed or "nothing")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
