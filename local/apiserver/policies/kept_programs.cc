#include "local/apiserver/policies/kept_programs.h"

namespace berth::local {

std::shared_ptr<const PolicyProgram> KeptPrograms::Of(const StoredObject& policy) {
  const std::string& name = policy.key().name;
  {
    const std::lock_guard lock(mutex_);
    const auto known = programs_.find(name);
    if (known != programs_.end() && known->second.revision == policy.revision()) {
      return known->second.program;
    }
  }
  const Object json = policy.json();
  auto program = std::make_shared<const PolicyProgram>(json == nullptr ? Json() : *json);
  const std::lock_guard lock(mutex_);
  if (programs_.size() >= kMost) programs_.clear();
  programs_[name] = {policy.revision(), program};
  return program;
}

}  // namespace berth::local
