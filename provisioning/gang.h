// provisioning/gang.h — the pods of a Workload that need capacity, as numbers; and how many nodes
// the pods need at least.
//
// The size depends on the Workload's spec alone, so that an estimate is the same with and without
// quota. Units: Amounts (api/quantity.h). Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"

namespace berth::provisioning {

struct GangPart {
  std::int64_t count = 0;    // pods; under partial admission the least that may start
  api::ResourceAmounts pod;  // requests of one pod
  api::StringMap selector;   // node selector of the pods
};

struct Gang {
  std::vector<GangPart> parts;
  std::int64_t pods() const;
};

// The pod sets that ask for a managed resource of `config`.
Gang GangOf(const api::Workload& workload, const api::ProvisioningRequestConfig& config);

struct NodesNeeded {
  std::int64_t nodes = 0;
  std::string short_of;  // not empty: one pod asks for more of the resource than one node has
};

// How many pods of the part one empty node takes; a resource that `node` does not name is
// unlimited.
std::int64_t PodsOnNode(const GangPart& part, const api::ResourceAmounts& node);

// A lower bound: no placement needs fewer nodes. A resource that `node` does not name is unlimited.
NodesNeeded LeastNodes(const Gang& gang, const api::ResourceAmounts& node);

}  // namespace berth::provisioning
