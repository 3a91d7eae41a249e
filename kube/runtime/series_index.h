// kube/runtime/series_index.h — finds the series of metrics by their labels. A search takes time
// with the number of series that have the rarest of the labels, not with the number of all.
//
// Threads: the caller's lock. Errors: none.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace berth::kube {

using MetricLabels = std::map<std::string, std::string>;

// Owner: what has the series, such as a metric.
template <typename Owner>
class SeriesIndex {
 public:
  struct Series {
    Owner* owner = nullptr;
    const MetricLabels* labels = nullptr;
  };

  // `labels` stay at their address until Remove.
  void Add(Owner& owner, const MetricLabels& labels) {
    for (const auto& label : labels) by_label_[WordOf(label)].emplace(&labels, &owner);
  }

  void Remove(const MetricLabels& labels) {
    for (const auto& label : labels) {
      const auto found = by_label_.find(WordOf(label));
      found->second.erase(&labels);
      if (found->second.empty()) by_label_.erase(found);
    }
  }

  // The series that have all of `wanted`, which has one label or more.
  std::vector<Series> With(const MetricLabels& wanted) const {
    const Bucket* rarest = nullptr;
    for (const auto& label : wanted) {
      const auto found = by_label_.find(WordOf(label));
      if (found == by_label_.end()) return {};
      if (rarest == nullptr || found->second.size() < rarest->size()) rarest = &found->second;
    }
    std::vector<Series> series;
    if (rarest == nullptr) return series;
    for (const auto& [labels, owner] : *rarest) {
      if (std::includes(labels->begin(), labels->end(), wanted.begin(), wanted.end())) {
        series.push_back({owner, labels});
      }
    }
    return series;
  }

 private:
  using Bucket = std::unordered_map<const MetricLabels*, Owner*>;

  // A name of a label has no '='.
  static std::string WordOf(const std::pair<const std::string, std::string>& label) {
    return label.first + '=' + label.second;
  }

  std::unordered_map<std::string, Bucket> by_label_;
};

}  // namespace berth::kube
