// api/job_pod_set.h — pod sets with the text of their templates: as a job describes them, and as
// code that writes Workloads, jobs or PodTemplates needs them.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/workload.h"

namespace berth::api {

struct JobPodSet : PodSet {
  std::shared_ptr<const std::string> json;  // the text: see PodTemplate::json

  JobPodSet() = default;
  JobPodSet(PodSet pods, std::shared_ptr<const std::string> text);
  void Take(PodTemplate whole);
};

// The text of the template of the pod set `index`; null: Berth has built it.
std::shared_ptr<const std::string> TextOf(const WorkloadSpec& spec, std::size_t index);
// That template, with its text.
PodTemplate TemplateOf(const WorkloadSpec& spec, std::size_t index);

std::vector<JobPodSet> JobPodSetsOf(const WorkloadSpec& spec);
void SetPodSets(std::vector<JobPodSet> pod_sets, WorkloadSpec& spec);

}  // namespace berth::api
