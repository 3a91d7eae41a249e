#include "api/job_pod_set.h"

#include <utility>

namespace berth::api {

JobPodSet::JobPodSet(PodSet pods, std::shared_ptr<const std::string> text)
    : PodSet(std::move(pods)), json(std::move(text)) {}

void JobPodSet::Take(PodTemplate whole) {
  json = std::move(whole.json);
  pod_template = static_cast<PodTemplateFields&&>(whole);
}

std::shared_ptr<const std::string> TextOf(const WorkloadSpec& spec, std::size_t index) {
  return index < spec.templates.size() ? spec.templates[index].Whole() : nullptr;
}

PodTemplate TemplateOf(const WorkloadSpec& spec, std::size_t index) {
  return {spec.pod_sets[index].pod_template, TextOf(spec, index)};
}

std::vector<JobPodSet> JobPodSetsOf(const WorkloadSpec& spec) {
  std::vector<JobPodSet> pod_sets;
  for (std::size_t i = 0; i < spec.pod_sets.size(); ++i) {
    pod_sets.emplace_back(spec.pod_sets[i], TextOf(spec, i));
  }
  return pod_sets;
}

void SetPodSets(std::vector<JobPodSet> pod_sets, WorkloadSpec& spec) {
  std::vector<PodSet> fields;
  std::vector<TemplateText> templates;
  for (JobPodSet& pods : pod_sets) {
    templates.emplace_back(std::move(pods.json));
    fields.push_back(static_cast<PodSet&&>(pods));
  }
  spec.pod_sets = std::move(fields);
  spec.templates = std::move(templates);
}

}  // namespace berth::api
