// view/screens/pods_of_job.h — how the pods of a job are found, by kind (kueuectl list pods --for).
//
//     "pytorchjob/train" ─ParseJobReference─▶ the job's list ─▶ object ─PodSelectorOf─▶ labels
//
// Threads: pure functions. Errors: kInvalid: no such form or kind.
// Source: Kueue cmd/kueuectl (list pods), PodLabelSelector of each integration.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/object_meta.h"
#include "api/workload.h"
#include "base/result.h"
#include "view/screens/cluster_view.h"
#include "view/screens/text.h"

namespace berth::view {

struct JobKindWords;

struct JobReference {
  const JobKindWords* kind = nullptr;  // static
  std::string name;

  // "/apis/batch/v1/namespaces/x/jobs"; an empty namespace stands for all namespaces.
  std::string ListPath(const std::string& namespace_name) const;
};

// `text`: TYPE[.GROUP]/NAME; TYPE is the singular or plural word, in any case.
Result<JobReference> ParseJobReference(const std::string& text);

// The job that controls a Workload. Kinds of another group may have the same word.
Result<JobReference> JobReferenceOf(const api::OwnerReference& owner);

// The label selector of the pods of `job`; empty: the job has no selector yet.
std::string PodSelectorOf(const JobReference& reference, const nlohmann::json& job);

// The keys of the labels by which the pods of jobs are found, beside those of PodView::job_name and
// PodView::group.
const std::vector<const char*>& JobPodLabels();

// The pods of one Workload, as its owner tells. Only one field is set.
struct PodMarks {
  api::StringMap labels;        // the labels of its pods; the first one names the job
  std::string pod_name;         // the name of its only pod
  std::string group;            // the name of its pod group: a label or an annotation of its pods
  bool is_told_by_job = false;  // only the object of the job tells: RayJob, RayService
};
PodMarks PodMarksOf(const api::Workload& workload);
// Whether the pod is the workload's. `marks`: PodMarksOf(workload).
bool IsPodOf(const PodView& pod, const api::Workload& workload, const PodMarks& marks);

// A meta.k8s.io Table as kubectl shows it, without the columns of -o wide.
std::string RenderServerTable(const nlohmann::json& table, bool with_namespace,
                              const TextStyle& style);

}  // namespace berth::view
