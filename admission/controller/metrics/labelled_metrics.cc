#include "admission/controller/metrics/labelled_metrics.h"

#include <algorithm>
#include <optional>

namespace berth::admission {
namespace {

using kube::MetricLabels;
using Source = CustomMetricLabel::Source;

// Cut before a byte that continues a character of UTF-8.
std::string Cut(const std::string& value) {
  if (value.size() <= LabelledMetrics::kMostValueBytes) return value;
  std::size_t end = LabelledMetrics::kMostValueBytes;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80U) --end;
  return value.substr(0, end);
}

std::optional<std::pair<Source, std::string>> ObjectOf(const MetricLabels& labels) {
  const auto value = [&labels](const char* name) -> const std::string* {
    const auto found = labels.find(name);
    return found == labels.end() ? nullptr : &found->second;
  };
  const std::string* space = value("namespace");
  if (const std::string* name = value("name"); name != nullptr && space != nullptr) {
    return std::pair(Source::kLocalQueue, *space + "/" + *name);
  }
  for (const char* label : {"cluster_queue", "preempting_cluster_queue"}) {
    if (const std::string* name = value(label)) return std::pair(Source::kClusterQueue, *name);
  }
  if (const std::string* name = value("cohort")) return std::pair(Source::kCohort, *name);
  return std::nullopt;
}

// The labels that all series of the object have; a ClusterQueue has series of two forms.
std::vector<MetricLabels> BasesOf(Source source, const std::string& key) {
  if (source == Source::kCohort) return {{{"cohort", key}}};
  if (source == Source::kClusterQueue) {
    return {{{"cluster_queue", key}}, {{"preempting_cluster_queue", key}}};
  }
  const std::size_t slash = key.find('/');
  return {{{"namespace", key.substr(0, slash)}, {"name", key.substr(slash + 1)}}};
}

}  // namespace

bool LabelledMetrics::Has(Source source) const {
  return std::any_of(labels_.begin(), labels_.end(),
                     [source](const CustomMetricLabel& label) { return label.source == source; });
}

LabelledMetrics::Values LabelledMetrics::ValuesOf(Source source,
                                                  const api::ObjectMeta& meta) const {
  Values values;
  for (const CustomMetricLabel& label : labels_) {
    if (label.source != source) continue;
    const bool is_label = label.metadata == CustomMetricLabel::Metadata::kLabel;
    const std::string* found = api::FindValue(is_label ? meta.labels : meta.annotations, label.key);
    const std::string value = found == nullptr ? "" : *found;
    const auto& tracked = label.tracked_values;
    const bool shown =
        tracked.empty() || std::find(tracked.begin(), tracked.end(), value) != tracked.end();
    values.push_back(shown ? Cut(value) : kUntracked);
  }
  return values;
}

MetricLabels LabelledMetrics::Named(Source source, const Values& values) const {
  MetricLabels named;
  auto value = values.begin();
  for (const CustomMetricLabel& label : labels_) {
    if (label.source != source || value == values.end()) continue;
    named["custom_" + label.name] = *value++;
  }
  return named;
}

LabelledMetrics::Values LabelledMetrics::EmptyValues(Source source) const {
  return Values(static_cast<std::size_t>(
      std::count_if(labels_.begin(), labels_.end(),
                    [source](const CustomMetricLabel& label) { return label.source == source; })));
}

void LabelledMetrics::SetObject(Source source, const std::string& key,
                                const api::ObjectMeta& meta) {
  if (!Has(source)) return;
  const auto [known, added] = objects_.try_emplace({source, key});
  if (added) known->second.values = EmptyValues(source);
  Change(known->first, known->second, ValuesOf(source, meta));
}

void LabelledMetrics::ForgetObject(Source source, const std::string& key) {
  const auto known = objects_.find({source, key});
  if (known == objects_.end()) return;
  Change(known->first, known->second, EmptyValues(source));
  objects_.erase(known);
}

void LabelledMetrics::Change(const Object& object, Known& known, Values values) {
  if (known.values == values) return;
  const Source source = object.first;
  const std::string& key = object.second;
  const auto with = [&](MetricLabels labels, const Values& of) {
    labels.merge(Named(source, of));
    return labels;
  };
  const std::vector<MetricLabels> bases = BasesOf(source, key);
  for (const MetricLabels& base : bases) {
    metrics_.RelabelGauges(with(base, known.values), Named(source, values));
  }
  std::erase(known.past, values);
  known.past.push_back(std::exchange(known.values, std::move(values)));
  if (known.past.size() <= kPastValues) return;
  for (const MetricLabels& base : bases) metrics_.Remove(with(base, known.past.front()));
  known.past.pop_front();
}

MetricLabels LabelledMetrics::WithCustom(const MetricLabels& labels) const {
  if (labels_.empty()) return labels;
  const auto object = ObjectOf(labels);
  if (!object || !Has(object->first)) return labels;
  const auto known = objects_.find(*object);
  MetricLabels all = labels;
  all.merge(Named(object->first,
                  known == objects_.end() ? EmptyValues(object->first) : known->second.values));
  return all;
}

}  // namespace berth::admission
