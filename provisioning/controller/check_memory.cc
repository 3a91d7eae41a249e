#include "provisioning/controller/check_memory.h"

#include <string>
#include <utility>

#include "api/codec/provisioning_policy.h"
#include "api/labels.h"

namespace berth::provisioning {

api::MemoryByCheck MemoryOf(const api::Workload& workload) {
  const std::string* text =
      api::FindValue(workload.meta.annotations, api::kProvisioningMemoryAnnotation);
  if (text == nullptr) return {};
  auto memory = api::DecodeMemory(*text);
  return memory ? *std::move(memory) : api::MemoryByCheck{};
}

api::StringMap WithMemory(api::StringMap annotations, const api::MemoryByCheck& memory) {
  annotations[api::kProvisioningMemoryAnnotation] = memory.empty() ? "" : api::EncodeMemory(memory);
  return annotations;
}

}  // namespace berth::provisioning
