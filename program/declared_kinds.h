// program/declared_kinds.h — the kinds that users declare, for reviews of their objects.
//
// Threads: Set on one thread; the others on any.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/kind_description.h"
#include "webhook/controller/kind_webhooks.h"
#include "webhook/job_rules.h"

namespace berth::program {

class DeclaredKinds {
 public:
  // Sets the kind that the JobKind `name` describes; null removes the kind. Returns whether the
  // webhook registrations change.
  bool Set(const std::string& name, const integrations::KindPtr& kind);
  // Null: no declared kind has this path.
  std::shared_ptr<const webhook::ReviewedKind> Find(std::string_view path) const;
  // Returns the webhooks in the order of the JobKinds' names.
  std::vector<webhook::DeclaredWebhook> Webhooks() const;

 private:
  struct Declared {
    webhook::DeclaredWebhook webhook;
    std::shared_ptr<const webhook::ReviewedKind> reviewed;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Declared, std::less<>> kinds_;  // by name of the JobKind
};

}  // namespace berth::program
