// api/metric_table.h — every metric of `berth controller`, as one table.
//
// The declarations (kube/runtime/metrics.h), the tables of docs/reference/metrics.md
// (tools/metrics) and the check of the board and the alerts (tests/local/e2e/test_monitoring.py)
// follow from the rows.
//
// Threads: constants. Errors: none.
// Source: Kueue 0.16 pkg/metrics, controller-runtime pkg/metrics for the names that start with
// theirs.
#pragma once

#include <span>
#include <string_view>

namespace berth::api {

enum class MetricKind { kCounter, kGauge, kHistogram };

struct MetricRow {
  std::string_view name;
  MetricKind kind;
  std::string_view
      labels;  // separated by spaces; "": none. Common and custom labels are not listed
  std::string_view help;
  // The upper bounds of a histogram's buckets. Empty: the metric brings its buckets itself.
  std::span<const double> bounds{};
};

// The rows of one table of the reference.
using MetricRows = std::span<const MetricRow>;

// All sections, in the order of the reference.
std::span<const MetricRows> MetricSections();

// Null: the table has no such metric.
const MetricRow* FindMetric(std::string_view name);

}  // namespace berth::api
