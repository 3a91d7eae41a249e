#include "kube/runtime/metrics_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace berth::kube {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

void AddEscaped(std::string_view value, std::string& out) {
  for (const char c : value) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      default: out += c;
    }
  }
}

void AddLabel(std::string_view name, std::string_view value, bool is_first, std::string& out) {
  if (!is_first) out += ',';
  out.append(name).append("=\"");
  AddEscaped(value, out);
  out += '"';
}

// One sample. `bound`: the label `le` of a bucket; empty: none.
void AddSample(const MetricFamily& family, std::string_view suffix, const ClientMetric& metric,
               std::string_view bound, std::string_view value, std::string& out) {
  out.append(family.name).append(suffix);
  if (!metric.label.empty() || !bound.empty()) {
    out += '{';
    bool is_first = true;
    for (const ClientMetric::Label& label : metric.label) {
      AddLabel(label.name, label.value, is_first, out);
      is_first = false;
    }
    if (!bound.empty()) AddLabel("le", bound, is_first, out);
    out += '}';
  }
  out.append(" ").append(value).append("\n");
}

void AddHistogram(const MetricFamily& family, const ClientMetric& metric, std::string& out) {
  const ClientMetric::Histogram& histogram = metric.histogram;
  const std::string count = std::to_string(histogram.sample_count);
  AddSample(family, "_count", metric, "", count, out);
  AddSample(family, "_sum", metric, "", MetricNumber(histogram.sample_sum), out);
  bool has_last = false;
  for (const ClientMetric::Bucket& bucket : histogram.bucket) {
    AddSample(family, "_bucket", metric, MetricNumber(bucket.upper_bound),
              std::to_string(bucket.cumulative_count), out);
    has_last = has_last || std::isinf(bucket.upper_bound);
  }
  if (!has_last) AddSample(family, "_bucket", metric, "+Inf", count, out);
}

void AddFamily(const MetricFamily& family, std::string& out) {
  if (!family.help.empty()) {
    out.append("# HELP ").append(family.name).append(" ").append(family.help).append("\n");
  }
  out.append("# TYPE ").append(family.name);
  switch (family.type) {
    case MetricType::Counter:
      out += " counter\n";
      for (const ClientMetric& each : family.metric) {
        AddSample(family, "", each, "", MetricNumber(each.counter.value), out);
      }
      return;
    case MetricType::Histogram:
      out += " histogram\n";
      for (const ClientMetric& each : family.metric) AddHistogram(family, each, out);
      return;
    default:
      out += " gauge\n";
      for (const ClientMetric& each : family.metric) {
        AddSample(family, "", each, "", MetricNumber(each.gauge.value), out);
      }
  }
}

}  // namespace

std::string MetricNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  constexpr int kMostDigits = 17;  // suffice for every double
  std::array<char, 32> text{};
  for (int digits = 15;; ++digits) {
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                   std::chars_format::general, digits);
    double read = 0;
    std::from_chars(text.data(), end.ptr, read);
    if (read == value || digits == kMostDigits) return {text.data(), end.ptr};
  }
}

std::string MetricsText(const std::vector<MetricFamily>& families) {
  std::string out;
  for (const MetricFamily& family : families) AddFamily(family, out);
  return out;
}

}  // namespace berth::kube
