#include "kube/runtime/metrics.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "base/assert.h"
#include "kube/runtime/metrics_text.h"

namespace berth::kube {
namespace {

template <typename Metric>
struct Declared {
  prometheus::Family<Metric>* family = nullptr;
  std::map<MetricLabels, Metric*> series;
  std::vector<double> bounds;  // histograms only
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

void Metrics::DeclareCounter(const std::string& name, const std::string& help) {
  const std::lock_guard lock(impl_->mutex);
  impl_->counters[name].family = &prometheus::BuildCounter()
                                      .Name(name)
                                      .Help(help)
                                      .Labels(impl_->common)
                                      .Register(impl_->registry);
}

void Metrics::DeclareGauge(const std::string& name, const std::string& help) {
  const std::lock_guard lock(impl_->mutex);
  impl_->gauges[name].family = &prometheus::BuildGauge()
                                    .Name(name)
                                    .Help(help)
                                    .Labels(impl_->common)
                                    .Register(impl_->registry);
}

void Metrics::DeclareHistogram(const std::string& name, const std::string& help,
                               std::vector<double> bucket_bounds) {
  const std::lock_guard lock(impl_->mutex);
  impl_->histograms[name].family = &prometheus::BuildHistogram()
                                        .Name(name)
                                        .Help(help)
                                        .Labels(impl_->common)
                                        .Register(impl_->registry);
  impl_->histograms[name].bounds = std::move(bucket_bounds);
}

void Metrics::Increment(const std::string& name, const MetricLabels& labels, double by) {
  const std::lock_guard lock(impl_->mutex);
  auto& declared = impl_->counters[name];
  BERTH_ASSERT(declared.family != nullptr);
  prometheus::Counter*& counter = declared.series[labels];
  if (counter == nullptr) counter = &declared.family->Add(labels);
  counter->Increment(by);
}

void Metrics::SetGauge(const std::string& name, const MetricLabels& labels, double value) {
  const std::lock_guard lock(impl_->mutex);
  auto& declared = impl_->gauges[name];
  BERTH_ASSERT(declared.family != nullptr);
  prometheus::Gauge*& gauge = declared.series[labels];
  if (gauge == nullptr) gauge = &declared.family->Add(labels);
  gauge->Set(value);
}

void Metrics::Observe(const std::string& name, const MetricLabels& labels, double value) {
  const std::lock_guard lock(impl_->mutex);
  auto& declared = impl_->histograms[name];
  BERTH_ASSERT(declared.family != nullptr);
  prometheus::Histogram*& histogram = declared.series[labels];
  if (histogram == nullptr) histogram = &declared.family->Add(labels, declared.bounds);
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
  auto& declared = impl_->gauges[name];
  BERTH_ASSERT(declared.family != nullptr);
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
