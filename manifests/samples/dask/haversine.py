"""The mean length of generated taxi trips, great circle, computed by the workers of a Dask cluster.

SEED and BLOCKS say which trips; WORKERS with how many workers the program starts. Once the trips are computed, it waits
until no more workers than that are left, which the autoscaler sees to, and prints the result."""

import os
import time

import dask.array as da
import numpy as np
from distributed import Client

ROWS = 100_000  # rows of a block
EARTH_RADIUS_KM = 6371.0
SEED = int(os.environ["SEED"])
BLOCKS = int(os.environ["BLOCKS"])
WORKERS = int(os.environ["WORKERS"])


def trips(block_info=None):
    """The trips of a block: longitude and latitude of pick-up and drop-off, in degrees."""
    block = block_info[None]["chunk-location"][0]
    random = np.random.default_rng([SEED, block])
    time.sleep(0.5)  # a download would take as long
    pickup = random.normal((-73.98, 40.75), (0.02, 0.03), (ROWS, 2))
    return np.hstack([pickup, pickup + random.normal(0, 0.02, (ROWS, 2))])


def haversine(block):
    """The lengths in kilometres."""
    lon1, lat1, lon2, lat2 = np.radians(block).T
    a = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(a))


def count(client):
    return len(client.scheduler_info(n_workers=-1)["workers"])


def main():
    with Client(os.environ["DASK_SCHEDULER_ADDRESS"], timeout=60) as client:
        client.wait_for_workers(WORKERS, timeout=120)
        print("workers", count(client), flush=True)
        table = da.map_blocks(trips, chunks=((ROWS,) * BLOCKS, (4,)), dtype=float, meta=np.empty((0, 0)))
        lengths = table.map_blocks(haversine, drop_axis=1, dtype=float, meta=np.empty(0))
        mean = client.compute(lengths.mean())
        most = 0
        while not mean.done():
            most = max(most, count(client))
            time.sleep(0.1)
        print("computed with", most, "workers", flush=True)
        deadline = time.monotonic() + 300
        left = count(client)
        while left > WORKERS and time.monotonic() < deadline:
            time.sleep(0.2)
            left = count(client)
        print("ends with", left, "workers", flush=True)
        print("trips", ROWS * BLOCKS, "mean km", repr(float(mean.result())), flush=True)


if __name__ == "__main__":
    main()
