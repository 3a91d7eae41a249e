// provisioning/request_names.h — the names of ProvisioningRequests and pod templates.
//
//     <workload>-<check>-<attempt>           where that has at most 247 bytes (as Kueue)
//     <front>-<hash>-<attempt>               otherwise; hash over workload and check
//
// The attempt can be parsed from both forms. (Kueue hashes the attempt in long names and cannot
// identify its own requests.) Source: Kueue pkg/controller/admissionchecks/provisioning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::provisioning {

// The name has at most 253 bytes; a DNS subdomain if workload and check are.
std::string RequestName(std::string_view workload, std::string_view check, std::int32_t attempt);

// The attempt of a request of `workload` and `check`; nullopt: the request is of another Workload
// or check.
std::optional<std::int32_t> AttemptOf(std::string_view request_name, std::string_view workload,
                                      std::string_view check);

// ppt-<request>-<pod set>, at most 253 bytes.
std::string TemplateName(std::string_view request_name, std::string_view pod_set);

}  // namespace berth::provisioning
