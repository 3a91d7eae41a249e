// local/apiserver/http/exposition_text.h — writes metrics in the text format of Prometheus (0.0.4).
//
//     text.Family("apiserver_request_total", "counter", "Counter of …");
//     text.Sample("apiserver_request_total", {{"verb", "GET"}}, 3);
//
// Threads: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::local {

inline constexpr char kMetricsMedia[] = "text/plain; version=0.0.4; charset=utf-8";

class ExpositionText {
 public:
  using LabelList = std::vector<std::pair<std::string_view, std::string_view>>;

  // Begins a metric: every sample of it follows before the next Family. `type`: "counter", "gauge",
  // "histogram".
  void Family(std::string_view name, std::string_view type, std::string_view help);
  void Sample(std::string_view name, const LabelList& labels, std::uint64_t value);
  void Sample(std::string_view name, const LabelList& labels, double value);

  // The samples of a histogram: `counts` has one entry for each bound, and a last one for larger
  // values. The entries are not cumulative.
  template <typename Bounds, typename Counts>
  void Histogram(std::string_view name, const LabelList& labels, const Bounds& bounds,
                 const Counts& counts, double sum) {
    std::uint64_t total = 0;
    LabelList with_bound = labels;
    with_bound.emplace_back("le", "");
    const std::string bucket = std::string(name) + "_bucket";
    for (std::size_t at = 0; at < counts.size(); ++at) {
      total += counts[at];
      const std::string bound = at < bounds.size() ? Number(bounds[at]) : "+Inf";
      with_bound.back().second = bound;
      Sample(bucket, with_bound, total);
    }
    Sample(std::string(name) + "_sum", labels, sum);
    Sample(std::string(name) + "_count", labels, total);
  }

  const std::string& text() const { return text_; }

 private:
  static std::string Number(double value);
  void Begin(std::string_view name, const LabelList& labels);

  std::string text_;
};

}  // namespace berth::local
