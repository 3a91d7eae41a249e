// integrations/workload_name.h — what the Workload of a job is called.
//
// Source: Kueue pkg/controller/jobframework/workload_names.go; the names are the same, so that a
// cluster can change over with its Workloads in place.
#pragma once

#include <string>
#include <string_view>

namespace berth::integrations {

struct OwnerIdentity {
  std::string_view kind;   // "Job"
  std::string_view group;  // "batch"; "" for core
  std::string_view name;
  std::string_view uid;
  std::string_view variant;  // further part of the hash (a slice's generation); usually empty
};

enum class NameLength {
  kObjectName,  // 253 bytes
  kLabelValue,  // 63 bytes (gate ShortWorkloadNames)
};

// kind-name-hash, the front cut so that the whole keeps within the length. The hash tells apart
// owners that were deleted and made again, and names that were cut.
std::string WorkloadName(const OwnerIdentity& owner, NameLength length = NameLength::kObjectName);

}  // namespace berth::integrations
