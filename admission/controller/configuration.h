// admission/controller/configuration.h — Kueue's Configuration file (config.kueue.x-k8s.io, v1beta1
// and v1beta2) as options of our controllers.
//
// What Kueue knows and Berth does not have is listed in `ignored`, for a warning, as long as no
// decision differs without it. What would change decisions, what nobody knows, wrong types and
// impossible values are errors, with the path of the field.
//
// Berth's own fields stand under `berth`, which Kueue does not know:
//
//     berth:
//       decisions: Berth                   # or Kueue: none of Berth's own rules
//       (docs/differences.md) rules: {no-preemption-in-return: false}      # beside that, rule by
//       rule preemptionPlanTimeout: 5m          # of preemptor-keeps-what-it-freed
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
#include "api/object_meta.h"
#include "base/result.h"

namespace berth::admission {

struct Configuration {
  AdmissionControllersOptions admission;
  std::string namespace_name = "kueue-system";
  bool manage_jobs_without_queue_name = false;
  std::optional<api::LabelSelector> managed_jobs_namespace_selector;  // nullopt: the default one
  std::vector<std::string> frameworks = {"batch/job"};  // kinds of jobs that are managed
  std::vector<std::string> external_frameworks;  // "Kind.version.group": others stop their jobs
  std::vector<std::string> label_keys_to_copy;
  std::optional<bool> leader_election;  // nullopt: the file does not say
  // metrics.bindAddress and health.healthProbeBindAddress, "ADDRESS:PORT"; "0": not served; empty:
  // the file does not say. `berth up` serves neither.
  std::string metrics_address;
  std::string health_address;
  // objectRetentionPolicies.workloads.afterDeactivatedByKueue: of jobs; nullopt: for ever.
  std::optional<Duration> keep_deactivated;

  struct Ignored {
    std::string field;  // its path
    std::string why;
    friend bool operator==(const Ignored&, const Ignored&) = default;
  };
  std::vector<Ignored> ignored;
  std::vector<std::pair<std::string, bool>> rules;  // berth.rules: already in admission.scheduler
};

// Whose decisions are taken; the file's `berth.rules` hold beside either.
enum class Decisions : std::uint8_t { kBerth, kKueue };
void SetDecisions(Configuration& configuration, Decisions decisions);

// The kinds of controllers whose Workloads somebody stops when they are evicted: those that Berth
// manages, and the external frameworks.
std::vector<OwnerKind> ManagedOwners(const Configuration& configuration);

// `document`: the file as JSON.
Result<Configuration> ReadConfiguration(const nlohmann::json& document);

// Go's notation, as metav1.Duration: "300ms", "5m", "1h30m0s", "1.5h"; nullopt on anything else.
std::optional<Duration> ParseGoDuration(std::string_view text);

}  // namespace berth::admission
