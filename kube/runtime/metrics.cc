#include "kube/runtime/metrics.h"

#include <algorithm>
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

namespace berth::kube {
namespace {

template <typename Metric>
struct Declared {
  prometheus::Family<Metric>* family = nullptr;
  const api::MetricRow* row = nullptr;
  std::map<MetricLabels, Metric*> series;
};

bool HasAll(const MetricLabels& labels, const MetricLabels& wanted) {
  return std::includes(labels.begin(), labels.end(), wanted.begin(), wanted.end());
}

template <typename Metric>
void RemoveFrom(std::map<std::string, Declared<Metric>>& metrics, const MetricLabels& labels) {
  for (auto& [name, declared] : metrics) {
    for (auto it = declared.series.begin(); it != declared.series.end();) {
      if (!HasAll(it->first, labels)) {
        ++it;
        continue;
      }
      declared.family->Remove(it->second);
      it = declared.series.erase(it);
    }
  }
}

}  // namespace

struct Metrics::Impl {
  // Declares the metric from its row at its first use.
  template <typename Metric>
  Declared<Metric>& Of(std::map<std::string, Declared<Metric>>& metrics, const std::string& name,
                       prometheus::detail::Builder<Metric> (*build)(), api::MetricKind kind) {
    Declared<Metric>& declared = metrics[name];
    if (declared.family != nullptr) return declared;
    declared.row = api::FindMetric(name);
    BERTH_ASSERT(declared.row != nullptr && declared.row->kind == kind);
    declared.family =
        &build().Name(name).Help(std::string(declared.row->help)).Labels(common).Register(registry);
    return declared;
  }
  Declared<prometheus::Gauge>& GaugeOf(const std::string& name) {
    return Of(gauges, name, prometheus::BuildGauge, api::MetricKind::kGauge);
  }

  prometheus::Registry registry;
  std::mutex mutex;
  MetricLabels common;
  std::map<std::string, Declared<prometheus::Counter>> counters;
  std::map<std::string, Declared<prometheus::Gauge>> gauges;
  std::map<std::string, Declared<prometheus::Histogram>> histograms;
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
  auto& declared =
      impl_->Of(impl_->counters, name, prometheus::BuildCounter, api::MetricKind::kCounter);
  prometheus::Counter*& counter = declared.series[labels];
  if (counter == nullptr) counter = &declared.family->Add(labels);
  counter->Increment(by);
}

void Metrics::SetGauge(const std::string& name, const MetricLabels& labels, double value) {
  const std::lock_guard lock(impl_->mutex);
  auto& declared = impl_->GaugeOf(name);
  prometheus::Gauge*& gauge = declared.series[labels];
  if (gauge == nullptr) gauge = &declared.family->Add(labels);
  gauge->Set(value);
}

void Metrics::Observe(const std::string& name, const MetricLabels& labels, double value) {
  const std::lock_guard lock(impl_->mutex);
  auto& declared =
      impl_->Of(impl_->histograms, name, prometheus::BuildHistogram, api::MetricKind::kHistogram);
  prometheus::Histogram*& histogram = declared.series[labels];
  if (histogram == nullptr) {
    const std::span<const double> bounds = declared.row->bounds;
    histogram = &declared.family->Add(labels, std::vector<double>(bounds.begin(), bounds.end()));
  }
  histogram->Observe(value);
}

void Metrics::Remove(const MetricLabels& labels) {
  const std::lock_guard lock(impl_->mutex);
  RemoveFrom(impl_->counters, labels);
  RemoveFrom(impl_->gauges, labels);
  RemoveFrom(impl_->histograms, labels);
}

void Metrics::RelabelGauges(const MetricLabels& labels, const MetricLabels& change) {
  const std::lock_guard lock(impl_->mutex);
  for (auto& [name, declared] : impl_->gauges) {
    std::map<MetricLabels, double> moved;
    for (auto it = declared.series.begin(); it != declared.series.end();) {
      if (!HasAll(it->first, labels)) {
        ++it;
        continue;
      }
      MetricLabels changed = it->first;
      for (const auto& [label, value] : change) changed[label] = value;
      moved.emplace(std::move(changed), it->second->Value());
      declared.family->Remove(it->second);
      it = declared.series.erase(it);
    }
    for (const auto& [changed, value] : moved) {
      prometheus::Gauge*& gauge = declared.series[changed];
      if (gauge == nullptr) gauge = &declared.family->Add(changed);
      gauge->Set(value);
    }
  }
}

void Metrics::RemoveGauge(const std::string& name, const MetricLabels& labels) {
  const std::lock_guard lock(impl_->mutex);
  auto& declared = impl_->GaugeOf(name);
  const auto found = declared.series.find(labels);
  if (found == declared.series.end()) return;
  declared.family->Remove(found->second);
  declared.series.erase(found);
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
