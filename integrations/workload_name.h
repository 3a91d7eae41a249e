// integrations/workload_name.h — the name of a job's Workload.
//
// Source: Kueue pkg/controller/jobframework/workload_names.go; the names are equal, so that a
// cluster can change over with its Workloads.
#pragma once

#include <string>
#include <string_view>

namespace berth::integrations {

struct OwnerIdentity {
  std::string_view kind;   // "Job"
  std::string_view group;  // "batch"; "" for core
  std::string_view name;
  std::string_view uid;
  std::string_view variant;  // more input of the hash (a slice's generation); usually empty
};

enum class NameLength {
  kObjectName,  // 253 bytes
  kLabelValue,  // 63 bytes (gate ShortWorkloadNames)
};

// kind-name-hash, its front cut to the length. The hash distinguishes owners that were deleted and
// created again, and names that were cut.
std::string WorkloadName(const OwnerIdentity& owner, NameLength length = NameLength::kObjectName);

}  // namespace berth::integrations
