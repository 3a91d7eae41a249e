// scenarios/lookup.h — finds the objects that a story names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "scenarios/script.h"
#include "scenarios/world/sim_world.h"

namespace berth::scenarios {

// An object with its kind and key.
struct Found {
  local::WholeApi::KindInfo kind;
  std::string namespace_name;
  std::string name;
  local::Object object;  // null: no such object
};

// "job x", "workload of x", "provreq of x" (the newest; attempt=2 another), "nodepool x", "workload
// team-a/x" … beginning at the plain word `at` of the step. `next` is set to the position behind
// them.
// Errors: kInvalid: the words name no kind.
Result<Found> FindNamed(sim::SimWorld& world, const Step& step, std::size_t at, std::size_t& next);

// Objects of a kind, all namespaces; none where the kind is not served.
std::vector<local::Object> AllOf(sim::SimWorld& world, std::string_view kind);

// The Workload of the Job "ns/name", or the Workload "ns/name"; null: there is none.
local::Object WorkloadOf(sim::SimWorld& world, const std::string& text);
// Requests for the Workload of `text`, oldest first.
std::vector<local::Object> RequestsOf(sim::SimWorld& world, const std::string& text);

// `path`: names with dots ("status.conditions"), or a JSON pointer if it begins with '/'. Null:
// there is no such field.
const local::Json* At(const local::Json& object, const std::string& path);

}  // namespace berth::scenarios
