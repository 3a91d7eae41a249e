// kube/runtime/metrics_text.h — metrics in Prometheus' text format (version 0.0.4).
//
// A number has the fewest of 15, 16 or 17 digits that read back as the same double: a reader
// computes with the number that the program decided with.
//
// Threads: pure functions. Errors: none.
// Source: https://prometheus.io/docs/instrumenting/exposition_formats
#pragma once

#include <string>
#include <vector>

#include <prometheus/metric_family.h>

namespace berth::kube {

// Counters, gauges and histograms; Berth has no other types.
std::string MetricsText(const std::vector<prometheus::MetricFamily>& families);

std::string MetricNumber(double value);

}  // namespace berth::kube
