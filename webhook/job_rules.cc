#include "webhook/job_rules.h"

#include <algorithm>
#include <optional>

#include "api/labels.h"
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

std::int64_t PodsCount(const api::Job& job) {
  return std::min(job.parallelism.value_or(1), job.completions.value_or(INT32_MAX));
}

void CheckQueueName(const api::Job& job, const api::Job* old, const JobFacts& facts,
                    FieldErrors& errors) {
  const Path path = Labels().Key(api::kQueueLabel);
  const std::string* name = api::FindValue(job.meta.labels, api::kQueueLabel);
  if (name != nullptr) {
    if (const std::string problem = DnsSubdomainProblem(*name); !problem.empty()) {
      errors.push_back(Invalid(path, Quoted(*name), problem));
    }
  }
  if (old == nullptr) return;
  const std::string before = ValueOf(old->meta.labels, api::kQueueLabel);
  const std::string now = name == nullptr ? "" : *name;
  if (before == now) return;
  if (!job.suspend) errors.push_back(Invalid(path, Quoted(now), kImmutable));
  if (now.empty() && facts.default_local_queue) {
    errors.push_back(Invalid(path, Quoted(""),
                             "queue-name must not be empty while a default LocalQueue exists"));
  }
}

void CheckPrebuilt(const api::Job& job, const api::Job* old, FieldErrors& errors) {
  const Path path = Labels().Key(api::kPrebuiltWorkloadLabel);
  const std::string now = ValueOf(job.meta.labels, api::kPrebuiltWorkloadLabel);
  if (!now.empty()) {
    if (const std::string problem = DnsSubdomainProblem(now); !problem.empty()) {
      errors.push_back(Invalid(path, Quoted(now), problem));
    }
  }
  if (old != nullptr && !job.suspend &&
      now != ValueOf(old->meta.labels, api::kPrebuiltWorkloadLabel)) {
    errors.push_back(Invalid(path, Quoted(now), kImmutable));
  }
}

void CheckMaxExecTime(const api::Job& job, const api::Job* old, FieldErrors& errors) {
  const Path path = Labels().Key(api::kMaxExecTimeLabel);
  const std::string* text = api::FindValue(job.meta.labels, api::kMaxExecTimeLabel);
  if (text != nullptr) {
    const std::optional<std::int64_t> seconds = ParseInt64(*text);
    if (!seconds || *seconds > INT32_MAX) {
      errors.push_back(Invalid(path, Quoted(*text), "must be a whole number of seconds"));
    } else if (*seconds <= 0) {
      errors.push_back(Invalid(path, std::to_string(*seconds), "should be greater than 0"));
    }
  }
  if (old == nullptr || (old->suspend && job.suspend)) return;
  if (ValueOf(job.meta.labels, api::kMaxExecTimeLabel) !=
      ValueOf(old->meta.labels, api::kMaxExecTimeLabel)) {
    errors.push_back(Invalid(path, Quoted(text == nullptr ? "" : *text), kImmutable));
  }
}

void CheckPriorityClass(const api::Job& job, const api::Job* old, FieldErrors& errors) {
  if (old == nullptr) return;
  const Path path = Labels().Key(api::kPriorityClassLabel);
  const std::string before = ValueOf(old->meta.labels, api::kPriorityClassLabel);
  const std::string now = ValueOf(job.meta.labels, api::kPriorityClassLabel);
  if (!before.empty() && now.empty()) {
    errors.push_back(Invalid(path, Quoted(now), "WorkloadPriorityClass cannot be removed"));
  }
  if (before.empty() && !now.empty() && !job.suspend) {
    errors.push_back(
        Invalid(path, Quoted(now), "WorkloadPriorityClass cannot be added to a running job"));
  }
}

void CheckPartialAdmission(const api::Job& job, const api::Job* old, FieldErrors& errors) {
  const std::string* text = api::FindValue(job.meta.annotations, api::kMinParallelismAnnotation);
  const Path path = Annotations().Key(api::kMinParallelismAnnotation);
  if (text != nullptr) {
    const std::optional<std::int64_t> value = ParseInt64(*text);
    // A start with fewer pods, and the stop after it, change the count that bounds the value.
    const std::string* before =
        old == nullptr ? nullptr
                       : api::FindValue(old->meta.annotations, api::kMinParallelismAnnotation);
    const bool unchanged = before != nullptr && *before == *text;
    if (unchanged) {
      // The value was validated when it was set.
    } else if (!value) {
      errors.push_back(Invalid(path, Quoted(*text), "must be a whole number"));
    } else if (*value <= 0 || *value >= PodsCount(job)) {
      errors.push_back(Invalid(path, std::to_string(*value),
                               "should be between 0 and " + std::to_string(PodsCount(job) - 1)));
    }
    if (ValueOf(job.meta.annotations, api::kElasticJobAnnotation) == "true") {
      errors.push_back(Invalid(path, Quoted(*text), "excludes elastic-job"));
    }
  }
  if (old != nullptr && text != nullptr && !old->suspend && !job.suspend &&
      old->parallelism != job.parallelism) {
    errors.push_back(
        Forbidden(Path("spec.parallelism"),
                  "cannot change when partial admission is enabled and the job is not suspended"));
  }
  const std::string* tied =
      api::FindValue(job.meta.annotations, api::kCompletionsEqualParallelismAnnotation);
  if (tied == nullptr) return;
  if (*tied != "true" && *tied != "false") {
    errors.push_back(Invalid(Annotations().Key(api::kCompletionsEqualParallelismAnnotation),
                             Quoted(*tied), "must be true or false"));
    return;
  }
  if (*tied == "false") return;
  if (job.completion_mode != "Indexed") {
    errors.push_back(Invalid(Path("spec.completionMode"), Quoted(job.completion_mode),
                             "should not be NonIndexed when " +
                                 std::string(api::kCompletionsEqualParallelismAnnotation) +
                                 " is true"));
  }
  if (job.completions.value_or(-1) != job.parallelism.value_or(1)) {
    errors.push_back(Invalid(Path("spec.completions"), std::to_string(job.completions.value_or(-1)),
                             "should be equal to parallelism when " +
                                 std::string(api::kCompletionsEqualParallelismAnnotation) +
                                 " is true"));
  }
}

void CheckTopology(const api::Job& job, FieldErrors& errors) {
  FieldErrors found = ValidateTopologyAnnotations(Path("spec.template.metadata.annotations"),
                                                  job.pod_template.annotations, PodsCount(job));
  errors.insert(errors.end(), found.begin(), found.end());
}

}  // namespace

bool IsManagedJob(const api::Job& job) {
  return !ValueOf(job.meta.labels, api::kQueueLabel).empty() ||
         job.meta.labels.count(api::kPrebuiltWorkloadLabel) != 0;
}

void DefaultJob(const JobFacts& facts, api::Job& job) {
  if (!facts.kind_managed || !facts.namespace_managed || facts.ancestor_managed) return;
  if (facts.default_local_queue && job.meta.labels.count(api::kQueueLabel) == 0) {
    job.meta.labels[api::kQueueLabel] = kDefaultName;
  }
  const bool managed = IsManagedJob(job) || facts.manage_without_queue_name;
  if (!managed) return;
  if (facts.default_priority_class && job.meta.labels.count(api::kPriorityClassLabel) == 0) {
    job.meta.labels[api::kPriorityClassLabel] = kDefaultName;
  }
  job.suspend = true;
}

FieldErrors ValidateJob(const api::Job& job, const api::Job* old, const JobFacts& facts) {
  FieldErrors errors;
  if (!facts.kind_managed) return errors;
  CheckQueueName(job, old, facts, errors);
  CheckPrebuilt(job, old, errors);
  CheckMaxExecTime(job, old, errors);
  CheckPriorityClass(job, old, errors);
  CheckPartialAdmission(job, old, errors);
  if (IsManagedJob(job)) CheckTopology(job, errors);
  if (old != nullptr && ValueOf(old->meta.annotations, api::kElasticJobAnnotation) !=
                            ValueOf(job.meta.annotations, api::kElasticJobAnnotation)) {
    errors.push_back(Invalid(Annotations().Key(api::kElasticJobAnnotation),
                             Quoted(ValueOf(job.meta.annotations, api::kElasticJobAnnotation)),
                             kImmutable));
  }
  return errors;
}

std::vector<std::string> WarningsOfJob(const api::Job& job) {
  if (!IsManagedJob(job) || ValueOf(job.meta.annotations, api::kElasticJobAnnotation) != "true") {
    return {};
  }
  return {Annotations().Key(api::kElasticJobAnnotation).text() +
          ": Berth does not scale jobs that run: a change of parallelism stops the job and queues "
          "it anew"};
}

}  // namespace berth::webhook
