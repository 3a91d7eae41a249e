// provisioning/pod_sets.h — the pods for which capacity is requested, and their updates.
//
// Source: Kueue pkg/controller/admissionchecks/provisioning (required pod sets, merge policies).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"

namespace berth::provisioning {

using FlavorsByName = std::map<std::string, api::ResourceFlavor>;

// Pod sets that are requested as one: the first gives name and template.
struct PodSetGroup {
  std::vector<std::string> names;  // never empty
  std::int32_t count = 0;
  api::PodTemplate pod_template;  // includes flavors' node selectors and tolerations, and requests
};

// Whether pods of that spec need a request: they use a managed resource, or all resources are
// managed.
bool UsesManaged(const api::PodSpec& spec, const api::ProvisioningRequestConfig& config);

// The pods of `workload` that need a request, merged as the config says. Empty: no pod does.
//
// Precondition: the workload holds quota. A flavor that is not in `flavors` adds nothing.
std::vector<PodSetGroup> RequiredPodSets(const api::Workload& workload,
                                         const api::ProvisioningRequestConfig& config,
                                         const FlavorsByName& flavors);

// The flavors that the Workload is admitted with, each once; empty: it has no quota.
std::vector<std::string> FlavorsOf(const api::Workload& workload);

struct UpdateOptions {
  bool protect_pods = true;  // keep autoscalers from removing the pods' nodes
};

// Annotations that keep autoscalers from removing the pods' nodes; annotations of the user's pods,
// `user`, are not replaced.
void AddProtection(const api::StringMap& user, api::StringMap& into);

// The updates of each original pod set once `request` is provisioned: the annotations that let the
// pods use the capacity, node selectors from its details and its zone, the toleration of queued
// nodes.
std::vector<api::PodSetUpdate> PodSetUpdates(const api::Workload& workload,
                                             const std::vector<PodSetGroup>& groups,
                                             const api::ProvisioningRequest& request,
                                             const api::ProvisioningRequestConfig& config,
                                             const UpdateOptions& options);

// The updates of each original pod set that runs on leased nodes (lease.h): the selector for the
// holder's nodes, the annotations that protect the pods, the toleration of queued nodes.
std::vector<api::PodSetUpdate> LeaseUpdates(const api::Workload& workload,
                                            const std::vector<PodSetGroup>& groups,
                                            const std::string& holder,
                                            const UpdateOptions& options);

}  // namespace berth::provisioning
