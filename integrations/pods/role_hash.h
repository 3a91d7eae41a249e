// integrations/pods/role_hash.h — the role of a pod in its group: pods of equal shape have one
// role, and each role is a pod set of the group's Workload.
//
//     sha256({"spec":{…}})[:8], with the fields that decide where and whether a pod runs
//
// The hashes are Kueue's, so that groups survive a change-over. Images, labels, environment and
// volumes have no effect. Quantities are hashed as the API server writes them.
//
// Threads: pure functions. Source: Kueue pkg/util/pod, pkg/controller/jobs/pod (getRoleHash).
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace berth::integrations {

// `spec`: the spec of a pod. An object of an unexpected shape has a hash, too.
std::string RoleHash(const nlohmann::json& spec);

}  // namespace berth::integrations
