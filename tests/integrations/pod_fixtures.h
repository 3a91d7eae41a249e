// Fixtures of pods and pod groups.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/labels.h"
#include "api/pod_groups.h"
#include "api/reasons.h"
#include "integrations/pods/pod_group.h"

namespace berth::integrations::pods_test {

using Phase = QueuedPod::Phase;

inline WallTime At(int seconds) { return WallTime{std::chrono::seconds(1'700'000'000 + seconds)}; }

// A pod of the group "g", in one word for each fact that differs from a gated, held, pending pod.
inline QueuedPodPtr Pod(const std::string& name, const std::string& words = "", int age = 0,
                        const std::string& role = "r1") {
  QueuedPod pod;
  pod.meta = {.namespace_name = "default", .name = name, .uid = "uid-" + name};
  pod.meta.creation_timestamp = At(age);
  pod.meta.labels = {{api::kQueueLabel, "lq"}, {api::kPodGroupNameLabel, "g"}};
  pod.meta.annotations = {{api::kPodGroupTotalCountAnnotation, "2"}};
  pod.role = role;
  const auto says = [&words](const char* word) { return words.find(word) != std::string::npos; };
  if (!says("free")) pod.meta.finalizers = {api::kManagedFinalizer};
  if (!says("ungated") && !says("running") && !says("failed") && !says("succeeded")) {
    pod.pod_template.spec.scheduling_gates = {api::kAdmissionGate, api::kTopologyGate};
  }
  if (says("running")) pod.phase = Phase::kRunning;
  if (says("failed")) pod.phase = Phase::kFailed;
  if (says("succeeded")) pod.phase = Phase::kSucceeded;
  if (says("ready")) pod.ready = true;
  if (says("running")) pod.pod_template.spec.node_name = "node";
  if (says("deleting")) pod.meta.deletion_timestamp = At(100);
  if (says("unretriable")) pod.meta.annotations[api::kRetriableInGroupAnnotation] = "false";
  if (says("fast")) pod.meta.annotations[api::kPodGroupFastAdmissionAnnotation] = "true";
  if (says("serving")) pod.meta.annotations[api::kPodGroupServingAnnotation] = "true";
  if (says("queue2")) pod.meta.labels[api::kQueueLabel] = "lq2";
  if (says("total3")) pod.meta.annotations[api::kPodGroupTotalCountAnnotation] = "3";
  if (says("total1")) pod.meta.annotations[api::kPodGroupTotalCountAnnotation] = "1";
  if (says("nototal")) pod.meta.annotations.erase(api::kPodGroupTotalCountAnnotation);
  if (says("index2")) pod.meta.labels[api::kPodGroupPodIndexLabel] = "2";
  if (says("index1")) pod.meta.labels[api::kPodGroupPodIndexLabel] = "1";
  api::Container container;
  container.name = "c";
  container.requests = {{"cpu", 1000}};
  pod.pod_template.spec.containers = {container};
  return std::make_shared<const QueuedPod>(std::move(pod));
}

inline std::vector<std::string> NamesOf(const std::vector<QueuedPodPtr>& pods) {
  std::vector<std::string> names;
  for (const QueuedPodPtr& pod : pods) names.push_back(pod->meta.name);
  return names;
}

inline PodsOfJob Group(std::vector<QueuedPodPtr> pods) { return {std::move(pods), "g"}; }

inline api::Workload WorkloadOf(std::vector<std::pair<std::string, int>> roles) {
  api::Workload workload;
  workload.meta = {.namespace_name = "default", .name = "g", .uid = "uid-w", .generation = 4};
  workload.meta.annotations[api::kIsGroupWorkloadAnnotation] = "true";
  workload.meta.finalizers = {api::kResourceInUseFinalizer};
  workload.spec.queue_name = "lq";
  std::vector<api::PodSet> pod_sets;
  for (auto& [name, count] : roles) {
    api::PodSet pods;
    pods.name = name;
    pods.count = count;
    pod_sets.push_back(pods);
  }
  workload.spec.pod_sets = std::move(pod_sets);
  return workload;
}

}  // namespace berth::integrations::pods_test
