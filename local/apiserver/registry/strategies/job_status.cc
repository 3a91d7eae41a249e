#include "local/apiserver/registry/strategies/job_status.h"

#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

bool Holds(const Json& job, std::string_view type) {
  const Json* condition = FindCondition(job, type);
  return condition != nullptr && TextAt(*condition, {"status"}) == "True";
}

bool IsFinished(const Json& job) { return Holds(job, "Complete") || Holds(job, "Failed"); }

const Json& Conditions(const Json& job) { return ArrayAt(job, {"status", "conditions"}); }

void CheckFinishing(const Json& job, const Json& old_job, std::vector<Cause>& causes) {
  const std::string path = "status.conditions";
  const Json& value = Conditions(job);
  for (const std::string_view type :
       {"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"}) {
    if (Holds(old_job, type) && !Holds(job, type)) {
      causes.push_back(
          InvalidError(path, value, "cannot disable the " + std::string(type) + "=True condition"));
    }
  }
  if (Holds(job, "Complete") && Holds(job, "Failed")) {
    causes.push_back(
        InvalidError(path, value, "cannot set Complete=True and Failed=True conditions"));
  }
  if (Holds(job, "Complete") && !Holds(old_job, "Complete")) {
    if (!Holds(job, "SuccessCriteriaMet")) {
      causes.push_back(
          InvalidError(path, value,
                       "cannot set Complete=True condition without the SuccessCriteriaMet=True "
                       "condition"));
    }
    if (At(job, {"status", "completionTime"}) == nullptr) {
      causes.push_back(
          RequiredError("status.completionTime", "completionTime is required for Complete jobs"));
    }
  }
  if (Holds(job, "Failed") && !Holds(old_job, "Failed") && !Holds(job, "FailureTarget")) {
    causes.push_back(InvalidError(
        path, value, "cannot set Failed=True condition without the FailureTarget=true condition"));
  }
}

void CheckCounts(const Json& job, const Json& old_job, std::vector<Cause>& causes) {
  const std::int64_t active = IntAt(job, {"status", "active"}, 0);
  const std::int64_t ready = IntAt(job, {"status", "ready"}, 0);
  if (ready > active &&
      (!SameAt(job, old_job, {"status", "ready"}) || !SameAt(job, old_job, {"status", "active"}))) {
    causes.push_back(InvalidError("status.ready", ready, "cannot set more ready pods than active"));
  }
  if (IsFinished(job) && !IsFinished(old_job) && active > 0) {
    causes.push_back(InvalidError("status.active", active, "active>0 is invalid for finished job"));
  }
  const bool indexed = TextAt(job, {"spec", "completionMode"}) == "Indexed";
  for (const std::string_view field : {"failed", "succeeded"}) {
    const std::int64_t now = IntAt(job, {"status", field}, 0);
    const std::int64_t before = IntAt(old_job, {"status", field}, 0);
    if (now >= before || (indexed && field == "succeeded")) continue;
    causes.push_back(InvalidError(ChildPath("status", field), now,
                                  "cannot decrease the number of " + std::string(field) + " pods"));
  }
  if (!indexed && At(job, {"status", "completedIndexes"}) != nullptr) {
    causes.push_back(InvalidError("status.completedIndexes",
                                  *At(job, {"status", "completedIndexes"}),
                                  "cannot set non-empty completedIndexes when non-indexed "
                                  "completion mode"));
  }
}

}  // namespace

std::vector<Cause> ValidateJobStatusUpdate(const Json& job, const Json& old_job) {
  std::vector<Cause> causes;
  if (SameAt(job, old_job, {"status"})) return causes;
  CheckFinishing(job, old_job, causes);
  CheckCounts(job, old_job, causes);
  if (IsFinished(old_job) && !SameAt(job, old_job, {"status", "startTime"})) {
    causes.push_back(
        RequiredError("status.startTime", "startTime cannot be removed for unsuspended job"));
  }
  return causes;
}

}  // namespace berth::local
