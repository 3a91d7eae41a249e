// batch/v1 CronJob. Source: Kubernetes 1.36 strategy and validation, restated.
#include "base/cron_schedule.h"
#include "base/strings.h"
#include "base/time_zone.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/job_spec.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/registry/strategies/workload_checks.h"

namespace berth::local {
namespace {

constexpr std::size_t kLongestName = 52;  // its Jobs have eleven characters more

void CheckTimes(const Json& cron_job, std::vector<Cause>& causes) {
  const std::string text = TextAt(cron_job, {"spec", "schedule"});
  if (text.empty()) {
    causes.push_back(RequiredError("spec.schedule"));
  } else if (text.find("TZ") != std::string::npos) {
    causes.push_back(InvalidError("spec.schedule", text,
                                  "cannot use TZ or CRON_TZ in schedule, use timeZone field "
                                  "instead"));
  } else if (const auto schedule = CronSchedule::Parse(text); !schedule) {
    causes.push_back(InvalidError("spec.schedule", text, schedule.error().message));
  }
  const Json* zone = At(cron_job, {"spec", "timeZone"});
  if (zone == nullptr) return;
  const std::string name = TextAt(cron_job, {"spec", "timeZone"});
  if (name.empty()) {
    causes.push_back(
        InvalidError("spec.timeZone", *zone, "timeZone must be nil or non-empty string"));
  } else if (EqualsIgnoreCase(name, "Local")) {
    causes.push_back(InvalidError("spec.timeZone", *zone,
                                  "timeZone must be an explicit time zone as defined in "
                                  "https://www.iana.org/time-zones"));
  } else if (const auto known = LoadTimeZone(name); !known) {
    causes.push_back(InvalidError("spec.timeZone", *zone, "unknown time zone " + name));
  }
}

class CronJobStrategy final : public SpecStrategy {
 public:
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = SpecStrategy::Validate(resource, object);
    const std::string name = NameOf(object);
    if (name.size() > kLongestName) {
      causes.push_back(InvalidError("metadata.name", name, "must be no more than 52 characters"));
    }
    return causes;
  }

 private:
  std::vector<Cause> ValidateSpec(const Json& cron_job) const override {
    std::vector<Cause> causes;
    CheckTimes(cron_job, causes);
    const std::string policy = TextAt(cron_job, {"spec", "concurrencyPolicy"});
    if (policy.empty()) {
      causes.push_back(RequiredError("spec.concurrencyPolicy"));
    } else if (policy != "Allow" && policy != "Forbid" && policy != "Replace") {
      causes.push_back(
          NotSupportedError("spec.concurrencyPolicy", policy, {"Allow", "Forbid", "Replace"}));
    }
    for (const std::string_view field :
         {"startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"}) {
      CheckNotNegative(cron_job, field, causes);
    }
    const Json* spec = At(cron_job, {"spec", "jobTemplate", "spec"});
    const Json job = {{"spec", spec == nullptr ? Json::object() : *spec}};
    for (Cause& cause : ValidateJobSpec(job)) {
      cause.field = "spec.jobTemplate." + cause.field;
      causes.push_back(std::move(cause));
    }
    if (BoolAt(job, {"spec", "manualSelector"}, false)) {
      causes.push_back(
          NotSupportedError("spec.jobTemplate.spec.manualSelector", true, {"nil", "false"}));
    }
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeCronJobStrategy() {
  return std::make_unique<CronJobStrategy>();
}

}  // namespace berth::local
