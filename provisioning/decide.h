// provisioning/decide.h — what the provisioning check of one Workload says and does now.
//
//     Workload, configs, requests, templates, now --Decide--> checks' new states, actions, next
//     wake
//
//     quota ─ templates, request ─▶ Pending ─Provisioned─▶ Ready ─▶ … ─ finished: all deleted
//                                     │ Failed, or booking expired before admission
//                                     ├─ retries left ─▶ Retry (quota given back, back-off) ─▶
//                                     quota └─ none left, or capacity revoked ─▶ Rejected
//
// Idempotent: performed and decided again, nothing is left to do. What must survive a restart is in
// the objects: the attempt in a request's name, the failures in the check's retryCount, which the
// eviction that follows Retry counts up. The back-off counts from the failure, not from the check's
// last transition (Kueue).
//
// Units: back-offs in seconds. Source: Kueue pkg/controller/admissionchecks/provisioning, KEP-1136.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/pod_sets.h"

namespace berth::provisioning {

// An AdmissionCheck of this controller that the Workload has to pass.
struct CheckInput {
  std::string name;
  const api::ProvisioningRequestConfig* config = nullptr;  // null: missing, the check is inactive
  std::int32_t last_attempt = 0;  // highest attempt seen in this process; 0: none
};

// A PodTemplate that is owned by the Workload or by one of its requests.
struct TemplateSeen {
  std::string name;
  std::string controller_uid;
};

struct Situation {
  const api::Workload* workload = nullptr;
  std::vector<CheckInput> checks;
  std::vector<api::ProvisioningRequest> requests;  // whose controller is the Workload
  std::vector<TemplateSeen> templates;
  const FlavorsByName* flavors = nullptr;  // null counts as empty
};

struct DecideOptions {
  UpdateOptions updates;
  std::chrono::seconds answer_timeout{120};  // then the message says that nobody answers
};

struct CreateTemplate {  // owned by the request where it exists, else by the Workload
  std::string name;
  api::PodTemplate pod_template;
  std::optional<api::OwnerReference> owner;
};
struct CreateRequest {  // owned by the Workload; its templates exist
  api::ProvisioningRequest request;
  std::string check;
  std::int32_t attempt = 0;
};
struct OwnTemplate {  // the request becomes the template's controller
  std::string name;
  api::OwnerReference owner;
};
struct DeleteRequest {
  std::string name;
};
struct DeleteTemplate {
  std::string name;
};
struct CheckEvent {  // on the Workload, type Normal
  std::string reason;
  std::string message;
};
using Action = std::variant<CreateTemplate, CreateRequest, OwnTemplate, DeleteRequest,
                            DeleteTemplate, CheckEvent>;

struct Decision {
  std::vector<api::AdmissionCheckState> checks;  // only those that change, each complete
  std::vector<Action> actions;                   // in this order
  std::optional<Duration> next_wake;             // from now, if nothing else happens
};

Decision Decide(const Situation& situation, const DecideOptions& options, WallTime now);

}  // namespace berth::provisioning
