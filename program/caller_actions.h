// program/caller_actions.h — the writes that the page offers, as patches of Kueue's objects.
//
//     {"action": "stop", "clusterQueue": "team", "drain": false} ─▶ PATCH clusterqueues/team
//
// Pure. Errors: kInvalid with the key and the remedy.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace berth::program {

struct CallerAction {
  std::string path;      // the path of the object
  nlohmann::json patch;  // application/merge-patch+json
  std::string words;     // "ClusterQueue team: stopped; running workloads continue"
};

// Actions: stop (with drain: running workloads are stopped, too) and resume, of clusterQueue (NAME)
// or localQueue (NAMESPACE/NAME); priority (with priority), deactivate and activate, of workload
// (NAMESPACE/NAME); stock (machines, those in use included; null: unlimited) of nodePool (NAME), or
// of its zone, in the emulated cloud.
Result<CallerAction> ParseAction(const std::string& body);

}  // namespace berth::program
