// admission/controller/configuration.h — Kueue's Configuration file (config.kueue.x-k8s.io, v1beta1
// and v1beta2) as options of our controllers.
//
// What Kueue knows and Berth does not have is listed in `ignored`, for a warning, as long as no
// decision differs without it. What would change decisions, what nobody knows, wrong types and
// impossible values are errors, with the path of the field.
//
// Threads: pure functions. Source: Kueue apis/config/v1beta2, pkg/config.
#pragma once

#include <optional>
#include <string>
#include <string_view>
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
  std::vector<std::string> label_keys_to_copy;
  std::optional<bool> leader_election;  // nullopt: the file does not say
  // objectRetentionPolicies.workloads.afterDeactivatedByKueue: of jobs; nullopt: for ever.
  std::optional<Duration> keep_deactivated;

  struct Ignored {
    std::string field;  // its path
    std::string why;
    friend bool operator==(const Ignored&, const Ignored&) = default;
  };
  std::vector<Ignored> ignored;
};

// `document`: the file as JSON.
Result<Configuration> ReadConfiguration(const nlohmann::json& document);

// Go's notation, as metav1.Duration: "300ms", "5m", "1h30m0s", "1.5h"; nullopt on anything else.
std::optional<Duration> ParseGoDuration(std::string_view text);

}  // namespace berth::admission
