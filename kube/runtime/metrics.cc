#include "kube/runtime/metrics.h"

#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "api/metric_table.h"
#include "base/assert.h"
#include "kube/runtime/metrics_text.h"
#include "kube/runtime/series_index.h"

namespace berth::kube {
namespace {

template <typename Metric>
struct Declared {
  prometheus::Family<Metric>* family = nullptr;
  const api::MetricRow* row = nullptr;
  std::map<MetricLabels, Metric*> series;
};

template <typename Metric>
Metric& AddSeries(const Declared<Metric>& declared, const MetricLabels& labels) {
  return declared.family->Add(labels);
}
prometheus::Histogram& AddSeries(const Declared<prometheus::Histogram>& declared,
                                 const MetricLabels& labels) {
  const std::span<const double> bounds = declared.row->bounds;
  return declared.family->Add(labels, std::vector<double>(bounds.begin(), bounds.end()));
}

// The metrics of one kind, with their series.
template <typename Metric>
class DeclaredMetrics {
 public:
  using Build = prometheus::detail::Builder<Metric> (*)();
  DeclaredMetrics(api::MetricKind kind, Build build) : kind_(kind), build_(build) {}

  // Declares the metric from its row at its first use.
  Declared<Metric>& Of(const std::string& name, const MetricLabels& common,
                       prometheus::Registry& registry) {
    Declared<Metric>& declared = metrics_[name];
    if (declared.family != nullptr) return declared;
    declared.row = api::FindMetric(name);
    BERTH_ASSERT(declared.row != nullptr && declared.row->kind == kind_);
    declared.family = &build_()
                           .Name(name)
                           .Help(std::string(declared.row->help))
                           .Labels(common)
                           .Register(registry);
    return declared;
  }

  Metric& SeriesOf(Declared<Metric>& declared, const MetricLabels& labels) {
    const auto [found, is_new] = declared.series.try_emplace(labels, nullptr);
    if (is_new) {
      found->second = &AddSeries(declared, labels);
      index_.Add(declared, found->first);
    }
    return *found->second;
  }

  std::vector<typename SeriesIndex<Declared<Metric>>::Series> With(
      const MetricLabels& labels) const {
    return index_.With(labels);
  }

  // Does nothing where the metric has no such series.
  void Remove(Declared<Metric>& declared, const MetricLabels& labels) {
    const auto found = declared.series.find(labels);
    if (found == declared.series.end()) return;
    index_.Remove(found->first);
    declared.family->Remove(found->second);
    declared.series.erase(found);
  }

  void RemoveAllWith(const MetricLabels& labels) {
    for (const auto& series : With(labels)) Remove(*series.owner, *series.labels);
  }

 private:
  const api::MetricKind kind_;
  const Build build_;
  std::map<std::string, Declared<Metric>> metrics_;
  SeriesIndex<Declared<Metric>> index_;
};

}  // namespace

struct Metrics::Impl {
  Declared<prometheus::Gauge>& GaugeOf(const std::string& name) {
    return gauges.Of(name, common, registry);
  }

  prometheus::Registry registry;
  std::mutex mutex;
  MetricLabels common;
  DeclaredMetrics<prometheus::Counter> counters{api::MetricKind::kCounter,
                                                prometheus::BuildCounter};
  DeclaredMetrics<prometheus::Gauge> gauges{api::MetricKind::kGauge, prometheus::BuildGauge};
  DeclaredMetrics<prometheus::Histogram> histograms{api::MetricKind::kHistogram,
                                                    prometheus::BuildHistogram};
  std::vector<std::function<std::string()>> sources;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::SetCommonLabels(const MetricLabels& labels) {
  const std::lock_guard lock(impl_->mutex);
  impl_->common = labels;
}

void Metrics::Increment(const std::string& name, const MetricLabels& labels, double by) {
  const std::lock_guard lock(impl_->mutex);
  auto& declared = impl_->counters.Of(name, impl_->common, impl_->registry);
  impl_->counters.SeriesOf(declared, labels).Increment(by);
}

void Metrics::SetGauge(const std::string& name, const MetricLabels& labels, double value) {
  const std::lock_guard lock(impl_->mutex);
  impl_->gauges.SeriesOf(impl_->GaugeOf(name), labels).Set(value);
}

void Metrics::Observe(const std::string& name, const MetricLabels& labels, double value) {
  const std::lock_guard lock(impl_->mutex);
  auto& declared = impl_->histograms.Of(name, impl_->common, impl_->registry);
  impl_->histograms.SeriesOf(declared, labels).Observe(value);
}

void Metrics::Remove(const MetricLabels& labels) {
  const std::lock_guard lock(impl_->mutex);
  impl_->counters.RemoveAllWith(labels);
  impl_->gauges.RemoveAllWith(labels);
  impl_->histograms.RemoveAllWith(labels);
}

void Metrics::RelabelGauges(const MetricLabels& labels, const MetricLabels& change) {
  const std::lock_guard lock(impl_->mutex);
  auto& gauges = impl_->gauges;
  struct Moved {
    Declared<prometheus::Gauge>* gauge;
    MetricLabels labels;
    double value;
  };
  std::vector<Moved> moved;
  for (const auto& series : gauges.With(labels)) {
    Moved to{series.owner, *series.labels, series.owner->series.at(*series.labels)->Value()};
    for (const auto& [label, value] : change) to.labels[label] = value;
    moved.push_back(std::move(to));
    gauges.Remove(*series.owner, *series.labels);
  }
  for (const Moved& to : moved) gauges.SeriesOf(*to.gauge, to.labels).Set(to.value);
}

void Metrics::RemoveGauge(const std::string& name, const MetricLabels& labels) {
  const std::lock_guard lock(impl_->mutex);
  impl_->gauges.Remove(impl_->GaugeOf(name), labels);
}

void Metrics::AddSource(std::function<std::string()> source) {
  const std::lock_guard lock(impl_->mutex);
  impl_->sources.push_back(std::move(source));
}

std::string Metrics::Text() const {
  std::string text = MetricsText(impl_->registry.Collect());
  std::vector<std::function<std::string()>> sources;
  {
    const std::lock_guard lock(impl_->mutex);
    sources = impl_->sources;
  }
  for (const auto& source : sources) text += source();
  return text;
}

}  // namespace berth::kube
