#include "program/declared_kinds.h"

#include <optional>
#include <utility>

#include "program/job_kinds.h"

namespace berth::program {

bool DeclaredKinds::Set(const std::string& name, const integrations::KindPtr& kind) {
  std::optional<Declared> now;
  if (kind != nullptr) {
    auto reviewed = std::make_shared<const webhook::ReviewedKind>(ReviewedKindOf(kind));
    const integrations::JobKind& names = kind->kind;
    now = Declared{{std::string(names.group), std::string(names.version), std::string(names.kind),
                    std::string(names.plural), reviewed->path, reviewed->hold_again != nullptr},
                   reviewed};
  }
  const std::lock_guard lock(mutex_);
  const auto known = kinds_.find(name);
  const bool changes = now.has_value() != (known != kinds_.end()) ||
                       (now && !(known->second.webhook == now->webhook));
  if (now) {
    kinds_.insert_or_assign(name, *std::move(now));
  } else if (known != kinds_.end()) {
    kinds_.erase(known);
  }
  return changes;
}

std::shared_ptr<const webhook::ReviewedKind> DeclaredKinds::Find(std::string_view path) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, declared] : kinds_) {
    if (declared.webhook.path == path) return declared.reviewed;
  }
  return nullptr;
}

std::vector<webhook::DeclaredWebhook> DeclaredKinds::Webhooks() const {
  const std::lock_guard lock(mutex_);
  std::vector<webhook::DeclaredWebhook> webhooks;
  for (const auto& [name, declared] : kinds_) webhooks.push_back(declared.webhook);
  return webhooks;
}

}  // namespace berth::program
