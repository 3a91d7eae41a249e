// admission/controller/configuration/configuration.h — Kueue's Configuration file
// (config.kueue.x-k8s.io, v1beta1 and v1beta2) as options of Berth's controllers.
//
// A field that Kueue has and Berth lacks is listed in `ignored`, for a warning, where no decision
// depends on the field. A field on which decisions depend, an unknown field, a wrong type and an
// impossible value are errors with the path of the field.
//
// Berth's own fields are under `berth`, which is unknown to Kueue:
//
//     berth:
//       decisions: Berth                         # or Kueue: all own rules off
//       rules: {no-preemption-in-return: false}  # docs/reference/differences.md
//       preemptionPlanTimeout: 5m                # of the rule preemptor-keeps-what-it-freed
//
// Threads: pure functions. Source: Kueue apis/config/v1beta2, pkg/config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "admission/controller/admission_controllers.h"
#include "admission/controller/configuration/program_options.h"
#include "api/object_meta.h"
#include "base/result.h"

namespace berth::admission {

struct Configuration {
  AdmissionControllersOptions admission;
  std::string namespace_name = "kueue-system";
  bool manage_jobs_without_queue_name = false;
  std::optional<api::LabelSelector> managed_jobs_namespace_selector;  // nullopt: default
  std::vector<std::string> frameworks = {"batch/job"};  // kinds of jobs that are managed
  std::vector<std::string> external_frameworks;         // "Kind.version.group", foreign job kinds
  std::vector<std::string> label_keys_to_copy;
  ProgramOptions program;
  // A job that names no WorkloadPriorityClass has the class "default".
  bool default_priority_class = true;
  std::vector<std::string> enabled_gates;  // the gates that the file sets to true
  // objectRetentionPolicies.workloads.afterDeactivatedByKueue, for jobs; nullopt: for ever.
  std::optional<Duration> keep_deactivated;

  struct Ignored {
    std::string field;  // path of the field
    std::string why;
    friend bool operator==(const Ignored&, const Ignored&) = default;
  };
  std::vector<Ignored> ignored;
  std::vector<std::pair<std::string, bool>>
      rules;  // berth.rules, applied to admission.driver.scheduler
};

// The default of the own rules: all on, or all off; `berth.rules` overrides single rules.
enum class Decisions : std::uint8_t { kBerth, kKueue };
void SetDecisions(Configuration& configuration, Decisions decisions);

// The owner kinds whose jobs some controller stops on eviction: those that Berth manages, and the
// external frameworks.
std::vector<OwnerKind> ManagedOwners(const Configuration& configuration);

// `document`: the file as JSON.
Result<Configuration> ReadConfiguration(const nlohmann::json& document);

}  // namespace berth::admission
