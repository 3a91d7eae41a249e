"""Reads the text format of Prometheus (0.0.4) as strictly as `promtool check metrics`.

    samples = exposition.read(text)                      # raises ValueError at the first fault
    exposition.value(samples, "up", job="a")             # the one series with these labels; None: there is none
"""

import collections
import math
import re

Sample = collections.namedtuple("Sample", "name labels value")

LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")
SUFFIXES = ("_bucket", "_sum", "_count")
# Counters that kube-apiserver names so.
OTHER_COUNTERS = ("apiserver_admission_webhook_rejection_count", "apiserver_admission_webhook_fail_open_count")


def _labels(text, line):
    labels, rest = {}, text or ""
    while rest:
        found = LABEL.match(rest)
        if not found or found.group(1) in labels:
            raise ValueError(f"malformed or repeated label: {line}")
        labels[found.group(1)] = found.group(2)
        rest = rest[found.end():]
    return labels


def _family_of(name, types):
    for suffix in SUFFIXES:
        if name.endswith(suffix) and types.get(name[:-len(suffix)]) == "histogram":
            return name[:-len(suffix)]
    return name


def _check_histograms(samples, types):
    """Bounds rise, counts never fall, and the last bucket is the count."""
    buckets, counts = collections.defaultdict(list), {}
    for sample in samples:
        family = _family_of(sample.name, types)
        if types.get(family) != "histogram":
            continue
        key = (family, tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le")))
        if sample.name.endswith("_bucket"):
            buckets[key].append((float(sample.labels["le"]), sample.value))
        elif sample.name.endswith("_count"):
            counts[key] = sample.value
    for key, pairs in buckets.items():
        if pairs != sorted(pairs) or [c for _, c in pairs] != sorted(c for _, c in pairs):
            raise ValueError(f"buckets out of order: {key}")
        if not math.isinf(pairs[-1][0]) or pairs[-1][1] != counts.get(key):
            raise ValueError(f"the last bucket is not the count: {key}")
    if buckets.keys() != counts.keys():
        raise ValueError("a histogram without buckets or without a count")


def read(text):
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    types, helped, samples, seen, closed, current = {}, set(), [], set(), set(), None
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, name, rest = (line + " ").split(" ", 3)
            if word not in ("HELP", "TYPE"):
                continue
            if name != current:
                if name in closed:
                    raise ValueError(f"the metric is in two places: {name}")
                closed.add(name)
                current = name
            if word == "HELP":
                if name in helped or not rest.strip():
                    raise ValueError(f"help is empty or told twice: {name}")
                helped.add(name)
            elif name in types or rest.strip() not in TYPES:
                raise ValueError(f"unknown or repeated type: {line}")
            else:
                types[name] = rest.strip()
            continue
        found = LINE.match(line)
        if not found:
            raise ValueError(f"malformed line: {line}")
        sample = Sample(found.group(1), _labels(found.group(2), line), float(found.group(3)))
        family = _family_of(sample.name, types)
        if family != current or family not in types or family not in helped:
            raise ValueError(f"a sample outside its metric: {line}")
        is_named_so = family.endswith("_total") or family in OTHER_COUNTERS
        if types[family] == "counter" and not (is_named_so and sample.value >= 0):
            raise ValueError(f"a counter that is no counter: {line}")
        key = (sample.name, tuple(sorted(sample.labels.items())))
        if key in seen:
            raise ValueError(f"the series comes twice: {line}")
        seen.add(key)
        samples.append(sample)
    _check_histograms(samples, types)
    return samples


def value(samples, name, /, **labels):
    found = [sample.value for sample in samples
             if sample.name == name and labels.items() <= sample.labels.items()]
    if len(found) > 1:
        raise AssertionError(f"{len(found)} series of {name} have {labels}")
    return found[0] if found else None


def label_names(samples, name):
    """The names of labels of the metric's series."""
    return {tuple(sorted(sample.labels)) for sample in samples if sample.name == name}
