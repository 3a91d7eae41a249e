"""The same computation with NumPy, for comparison: reads a raw file, prints the results as JSON."""

import json
import sys
import time

import numpy

EARTH_RADIUS_KM = 6371.0


def distances_km(longitude1, latitude1, longitude2, latitude2):
    longitude1, latitude1, longitude2, latitude2 = map(
        numpy.radians, (longitude1, latitude1, longitude2, latitude2))
    h = (numpy.sin((latitude2 - latitude1) / 2) ** 2
         + numpy.cos(latitude1) * numpy.cos(latitude2)
         * numpy.sin((longitude2 - longitude1) / 2) ** 2)
    return 2 * EARTH_RADIUS_KM * numpy.arcsin(numpy.sqrt(h))


def main():
    started = time.perf_counter()
    columns = numpy.fromfile(sys.argv[1]).reshape(4, -1)
    read = time.perf_counter()
    km = distances_km(*columns)
    bins, _ = numpy.histogram(numpy.minimum(km, 40.5), bins=numpy.arange(42))
    result = {"meanKm": float(km.mean()), "maxKm": float(km.max()), "histogramKm": bins.tolist()}
    ended = time.perf_counter()
    result |= {"rows": len(km), "seconds": ended - started, "computeSeconds": ended - read,
               "numpy": numpy.__version__}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
