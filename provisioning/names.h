// provisioning/names.h — what requests and pod templates are called.
//
//     <workload>-<check>-<attempt>           where that has at most 247 bytes (as Kueue)
//     <front>-<hash>-<attempt>               otherwise; hash over workload and check
//
// The attempt can be read back from either. (Kueue hashes the attempt away in long names and then
// no longer knows its own requests.) Source: Kueue pkg/controller/admissionchecks/provisioning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::provisioning {

// At most 253 bytes, a DNS subdomain if workload and check are.
std::string RequestName(std::string_view workload, std::string_view check, std::int32_t attempt);

// The attempt of a request of that workload and check; nullopt: another's request.
std::optional<std::int32_t> AttemptOf(std::string_view request_name, std::string_view workload,
                                      std::string_view check);

// ppt-<request>-<pod set>, at most 253 bytes.
std::string TemplateName(std::string_view request_name, std::string_view pod_set);

}  // namespace berth::provisioning
