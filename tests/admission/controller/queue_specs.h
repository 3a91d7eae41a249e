// tests/admission/controller/queue_specs.h — parts of the specs of ClusterQueues and cohorts, as
// JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace berth::admission {

// The resourceGroups of a queue: quota of CPUs in flavors.
inline nlohmann::json Groups(const std::string& flavors) {
  return {{"resourceGroups",
           {{{"coveredResources", {"cpu"}}, {"flavors", nlohmann::json::parse(flavors)}}}}};
}
inline nlohmann::json Limited(int cpu, const char* field, int limit) {
  return Groups(R"([{"name": "default", "resources": [{"name": "cpu", "nominalQuota": ")" +
                std::to_string(cpu) + R"(", ")" + field + R"(": ")" + std::to_string(limit) +
                R"("}]}])");
}

inline nlohmann::json Preempting() {
  return {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}};
}
inline nlohmann::json Checked() {
  return {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "c"}}}}}}};
}

}  // namespace berth::admission
