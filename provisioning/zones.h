// provisioning/zones.h — in which zone a step of a ProvisioningPolicy asks.
//
//     zones of the step ─ that pods and flavor admit ─▶ possible ─ that do not rest ─▶ open
//
// A request asks in one zone: its pod templates select the zone, and so do the pods that use its
// nodes. Each failed request of a step moves the beginning of the order on by one zone, so that the
// zones take turns also where nothing is remembered of the stock.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/stock_memory.h"
#include "provisioning/vetoes.h"

namespace berth::provisioning {

// The zones of `step` that the pods' node selectors and the flavor's node labels admit, in the
// step's order. Empty: none is, or the step names no zone.
std::vector<std::string> PossibleZones(const api::ProvisioningStep& step, const VetoInput& input);

// The zones that the pods or the flavors are bound to, each once, in the order of names.
std::vector<std::string> BoundZones(const api::ProvisioningStep& step, const VetoInput& input);

// The entry of the stock memory whose rest forbids a request of the step in `zone`; an empty zone:
// the request lets the cloud choose the zone. null: no rest forbids the request, or the policy
// ignores the stock.
const api::StockEntry* RestIn(const std::string& zone, const api::ProvisioningStep& step,
                              const VetoInput& input);

// The zone of the next request after `failed` requests of the step, none of `taken`. Where all
// possible zones rest and none is taken, the zone whose turn it is. Empty: the step names no zone,
// or no other one is open.
std::string NextZone(const api::ProvisioningStep& step, const VetoInput& input, std::int32_t failed,
                     const std::vector<std::string>& taken = {});

}  // namespace berth::provisioning
