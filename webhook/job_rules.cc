#include "webhook/job_rules.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "api/checkpoint.h"
#include "api/deadline.h"
#include "api/holds.h"
#include "api/labels.h"
#include "api/multikueue.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "webhook/topology_rules.h"

namespace berth::webhook {
namespace {

constexpr char kDefaultName[] = "default";

Path Labels() { return Path("metadata.labels"); }
Path Annotations() { return Path("metadata.annotations"); }

std::string ValueOf(const api::StringMap& map, const char* key) {
  const std::string* value = api::FindValue(map, key);
  return value == nullptr ? "" : *value;
}

bool IsElastic(const api::ObjectMeta& job) {
  return ValueOf(job.annotations, api::kElasticJobAnnotation) == "true";
}

// Whether the rules of new jobs hold for this write. `old`: null on create.
bool ChecksAsNew(const ReviewedKind& kind, const ReviewedJob* old) {
  return old == nullptr || kind.recheck;
}

void CheckQueueName(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                    const JobFacts& facts, FieldErrors& errors) {
  const Path path = Labels().Key(api::kQueueLabel);
  const std::string* name = api::FindValue(job.meta.labels, api::kQueueLabel);
  if (name != nullptr && ChecksAsNew(kind, old)) {
    if (const std::string problem = DnsSubdomainProblem(*name); !problem.empty()) {
      errors.push_back(Invalid(path, Quoted(*name), problem));
    }
  }
  if (old == nullptr) return;
  const std::string before = ValueOf(old->meta.labels, api::kQueueLabel);
  const std::string now = name == nullptr ? "" : *name;
  if (before == now) return;
  if (!job.suspended) errors.push_back(Invalid(path, Quoted(now), kImmutable));
  if (now.empty() && facts.default_local_queue) {
    errors.push_back(
        Invalid(path, Quoted(""), "queue-name must not be empty in namespace with default queue"));
  }
}

// The annotation goes before the label.
std::string PrebuiltOf(const api::ObjectMeta& job) {
  const std::string by_annotation = ValueOf(job.annotations, api::kPrebuiltWorkloadLabel);
  return by_annotation.empty() ? ValueOf(job.labels, api::kPrebuiltWorkloadLabel) : by_annotation;
}

void CheckPrebuilt(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                   FieldErrors& errors) {
  const bool annotated = job.meta.annotations.count(api::kPrebuiltWorkloadLabel) != 0;
  const Path path = (annotated ? Annotations() : Labels()).Key(api::kPrebuiltWorkloadLabel);
  const std::string now = PrebuiltOf(job.meta);
  // The Workload of an elastic job changes with its size.
  const bool follows_size = old != nullptr && IsElastic(old->meta);
  const bool as_new = ChecksAsNew(kind, old) || follows_size;
  if (!now.empty() && !kind.prebuilt && as_new) {
    errors.push_back(Forbidden(path, "Is not supported for " + Quoted(kind.name)));
  } else if (!now.empty() && as_new) {
    if (const std::string problem = DnsSubdomainProblem(now); !problem.empty()) {
      errors.push_back(Invalid(path, Quoted(now), problem));
    }
  }
  if (old == nullptr || job.suspended || now == PrebuiltOf(old->meta) || follows_size) return;
  errors.push_back(Invalid(path, Quoted(now), kImmutable));
}

void CheckMaxExecTime(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                      FieldErrors& errors) {
  const Path path = Labels().Key(api::kMaxExecTimeLabel);
  const std::string* text = api::FindValue(job.meta.labels, api::kMaxExecTimeLabel);
  if (text != nullptr && ChecksAsNew(kind, old)) {
    const std::optional<std::int64_t> seconds = ParseInt64(*text);
    if (!seconds || *seconds > INT32_MAX) {
      errors.push_back(Invalid(path, Quoted(*text), "must be a whole number of seconds"));
    } else if (*seconds <= 0) {
      errors.push_back(Invalid(path, std::to_string(*seconds), "should be greater than 0"));
    }
  }
  if (old == nullptr || (old->suspended && job.suspended)) return;
  if (ValueOf(job.meta.labels, api::kMaxExecTimeLabel) !=
      ValueOf(old->meta.labels, api::kMaxExecTimeLabel)) {
    errors.push_back(Invalid(path, Quoted(text == nullptr ? "" : *text), kImmutable));
  }
}

void CheckCheckpoint(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                     FieldErrors& errors) {
  if (!ChecksAsNew(kind, old) || api::CheckpointEvery(job.meta.annotations)) return;
  const std::string text = ValueOf(job.meta.annotations, api::kCheckpointEveryAnnotation);
  errors.push_back(Invalid(Annotations().Key(api::kCheckpointEveryAnnotation), Quoted(text),
                           "must be a duration above zero such as 30m"));
}

void CheckDeadline(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                   FieldErrors& errors) {
  if (!ChecksAsNew(kind, old) || api::ReadDeadline(job.meta.annotations)) return;
  const std::string text = ValueOf(job.meta.annotations, api::kDeadlineAnnotation);
  errors.push_back(Invalid(Annotations().Key(api::kDeadlineAnnotation), Quoted(text),
                           "must be a time such as 2026-01-05T14:20:00Z"));
}

// The warning for a new job that can keep its deadline only by luck; empty: none.
std::string DeadlineWarning(const api::ObjectMeta& job) {
  const auto deadline = api::DeadlineOf(job.annotations);
  if (!deadline || job.creation_timestamp == WallTime{}) return "";
  const std::string path = Annotations().Key(api::kDeadlineAnnotation).text();
  const Duration left = *deadline - job.creation_timestamp;
  if (left <= Duration::zero()) return path + ": the deadline is past";
  const std::optional<std::int64_t> seconds =
      ParseInt64(ValueOf(job.labels, api::kMaxExecTimeLabel));
  if (!seconds || left >= std::chrono::seconds(*seconds)) return "";
  return path + ": the job may run for " + HumanDuration(std::chrono::seconds(*seconds)) +
         ", and its deadline is in " + HumanDuration(left) +
         ": it is late unless it ends before its maximum execution time";
}

void CheckPriorityClass(const ReviewedJob& job, const ReviewedJob* old, FieldErrors& errors) {
  if (old == nullptr) return;
  const Path path = Labels().Key(api::kPriorityClassLabel);
  const std::string before = ValueOf(old->meta.labels, api::kPriorityClassLabel);
  const std::string now = ValueOf(job.meta.labels, api::kPriorityClassLabel);
  if (!before.empty() && now.empty()) {
    errors.push_back(
        Invalid(path, Quoted(now), "WorkloadPriorityClass cannot be removed from a workload"));
  }
  if (before.empty() && !now.empty() && !job.suspended) {
    errors.push_back(Invalid(path, Quoted(now),
                             "WorkloadPriorityClass cannot be added to a non-suspended workload"));
  }
}

// The workload-wide gates of admission: a list that only shrinks.
void CheckGates(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                FieldErrors& errors) {
  const Path path = Annotations().Key(api::kAdmissionGatedByAnnotation);
  const std::string* text = api::FindValue(job.meta.annotations, api::kAdmissionGatedByAnnotation);
  const std::string list = text == nullptr ? "" : *text;
  std::vector<std::string> seen;
  for (const std::string& gate : api::AdmissionGatesOf(job.meta)) {
    if (!ChecksAsNew(kind, old)) {
      seen.push_back(gate);
      continue;
    }
    if (gate.empty()) {
      errors.push_back(Invalid(path, Quoted(list), "cannot contain empty gate names"));
    } else if (std::find(seen.begin(), seen.end(), gate) != seen.end()) {
      errors.push_back(Invalid(path, Quoted(list), "duplicate gate name: " + gate));
    } else if (const std::string problem = QualifiedNameProblem(gate); !problem.empty()) {
      errors.push_back(Invalid(path, Quoted(gate), problem));
    }
    seen.push_back(gate);
  }
  if (old == nullptr) return;
  const std::string* before =
      api::FindValue(old->meta.annotations, api::kAdmissionGatedByAnnotation);
  if (before == nullptr) {
    if (text != nullptr)
      errors.push_back(Forbidden(path, "cannot add admission gate after creation"));
    return;
  }
  const std::vector<std::string> known = api::AdmissionGatesOf(old->meta);
  const bool grows = std::any_of(seen.begin(), seen.end(), [&known](const std::string& gate) {
    return std::find(known.begin(), known.end(), gate) == known.end();
  });
  if (grows) errors.push_back(Forbidden(path, "can only remove gates, not add new ones"));
}

void CheckElastic(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                  const JobFacts& facts, FieldErrors& errors) {
  if (!facts.elastic_jobs) return;
  const Path path = Annotations().Key(api::kElasticJobAnnotation);
  const std::string now = ValueOf(job.meta.annotations, api::kElasticJobAnnotation);
  if (now == "true" && !kind.elastic && ChecksAsNew(kind, old)) {
    errors.push_back(Forbidden(path, "elastic job is not supported for " + Quoted(kind.name)));
  }
  if (old != nullptr && ValueOf(old->meta.annotations, api::kElasticJobAnnotation) != now) {
    errors.push_back(Invalid(path, Quoted(now), kImmutable));
  }
  if (now != "true" || !kind.elastic || !IsQueuedJob(job.meta, facts)) return;
  for (const ReviewedJob::PodSet& pods : job.pod_sets) {
    if (!pods.has_elastic_gate && kind.gate) {
      errors.push_back(Invalid(pods.annotations, Quoted(pods.name),
                               "an elastic job must have the ElasticJobSchedulingGate"));
    }
    if (!kind.plain_topology) continue;
    for (const auto& [key, word] : {std::pair(api::kRequiredTopologyAnnotation, "required"),
                                    std::pair(api::kPreferredTopologyAnnotation, "preferred")}) {
      if (pods.topology_annotations.count(key) == 0) continue;
      errors.push_back(
          Forbidden(pods.annotations.Key(key),
                    std::string(word) + " topology is not supported with elastic jobs"));
    }
  }
}

FieldErrors TopologyErrors(const ReviewedJob& job, const ReviewedKind& kind) {
  FieldErrors errors;
  const auto add = [&errors](const FieldErrors& found) {
    errors.insert(errors.end(), found.begin(), found.end());
  };
  for (const ReviewedJob::PodSet& pods : job.pod_sets) {
    add(ValidateTopologyAnnotations(pods.annotations, pods.topology_annotations, pods.count));
  }
  if (!kind.pod_set_groups) return errors;
  std::vector<GroupedPodSet> grouped;
  for (const ReviewedJob::PodSet& pods : job.pod_sets) {
    grouped.push_back({pods.annotations, pods.topology_annotations, pods.count});
  }
  add(ValidatePodSetGroups(grouped));
  return errors;
}

// Errors that the old object has, too, came with a change of the object that has the templates:
// they must not refuse the writes that stop the job.
void CheckTopology(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                   FieldErrors& errors) {
  const FieldErrors found = TopologyErrors(job, kind);
  if (kind.topology_advice.empty()) {
    errors.insert(errors.end(), found.begin(), found.end());
    return;
  }
  const FieldErrors known = old == nullptr ? FieldErrors{} : TopologyErrors(*old, kind);
  for (const std::string& error : found) {
    if (std::find(known.begin(), known.end(), error) != known.end()) continue;
    errors.push_back(error + kind.topology_advice);
  }
}

}  // namespace

bool IsManagedJob(const api::ObjectMeta& job) {
  return !ValueOf(job.labels, api::kQueueLabel).empty() || !PrebuiltOf(job).empty() ||
         job.labels.count(api::kPrebuiltWorkloadLabel) != 0;
}

bool IsQueuedJob(const api::ObjectMeta& job, const JobFacts& facts) {
  if (IsManagedJob(job)) return true;
  return facts.manage_without_queue_name && facts.namespace_managed && !facts.ancestor_managed;
}

void DefaultJob(const JobFacts& facts, ReviewedJob& job) {
  if (!facts.kind_managed || !facts.namespace_managed || job.skipped) return;
  // A child of an elastic job has the pods whose number its parent's slices limit.
  job.gated = facts.ancestor_managed && facts.elastic_jobs && IsElastic(job.meta);
  if (facts.ancestor_managed) return;
  if (facts.default_local_queue && job.meta.labels.count(api::kQueueLabel) == 0) {
    job.meta.labels[api::kQueueLabel] = kDefaultName;
  }
  const bool managed = IsManagedJob(job.meta) || facts.manage_without_queue_name;
  if (!managed) return;
  if (facts.default_priority_class && job.meta.labels.count(api::kPriorityClassLabel) == 0) {
    job.meta.labels[api::kPriorityClassLabel] = kDefaultName;
  }
  job.suspended = true;
  job.gated = facts.elastic_jobs && IsElastic(job.meta);
}

FieldErrors ValidateJob(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                        const JobFacts& facts, const FieldErrors& own) {
  FieldErrors errors;
  if (!facts.kind_managed) return errors;
  CheckQueueName(job, old, kind, facts, errors);
  CheckPrebuilt(job, old, kind, errors);
  CheckMaxExecTime(job, old, kind, errors);
  CheckPriorityClass(job, old, errors);
  CheckGates(job, old, kind, errors);
  errors.insert(errors.end(), own.begin(), own.end());
  if (IsQueuedJob(job.meta, facts)) {
    CheckTopology(job, old, kind, errors);
    CheckCheckpoint(job, old, kind, errors);
    CheckDeadline(job, old, kind, errors);
  }
  CheckElastic(job, old, kind, facts, errors);
  return errors;
}

std::vector<std::string> WarningsOfJob(const api::ObjectMeta& job, bool elastic_jobs) {
  if (!IsManagedJob(job)) return {};
  std::vector<std::string> warnings;
  if (!elastic_jobs && IsElastic(job)) {
    warnings.push_back(
        Annotations().Key(api::kElasticJobAnnotation).text() +
        ": the feature gate ElasticJobsViaWorkloadSlices is off: a change of parallelism stops "
        "the job and queues it anew");
  }
  std::string deadline = DeadlineWarning(job);
  if (!deadline.empty()) warnings.push_back(std::move(deadline));
  return warnings;
}

std::string DelegationWarning(const std::string& path) {
  return path + ": " + api::kMultiKueueController +
         ": Berth has no MultiKueue: the job is not queued, and does not run; create it without "
         "the "
         "field";
}

}  // namespace berth::webhook
