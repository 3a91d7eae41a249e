// local/apiserver/patch/managers.h — converts metadata.managedFields to data and back.
//
// One entry per (manager, operation, apiVersion for updates, subresource).
// Threads: a value type. Source: Kubernetes managedFields, restated.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "local/apiserver/api.h"
#include "local/apiserver/patch/field_set.h"

namespace berth::local {

enum class Operation : std::uint8_t { kApply, kUpdate };

struct ManagerKey {
  std::string manager;
  Operation operation = Operation::kUpdate;
  std::string api_version;  // "" for Apply: one entry for all versions
  std::string subresource;
  friend auto operator<=>(const ManagerKey&, const ManagerKey&) = default;
};

struct ManagedSet {
  FieldSet fields;
  std::string api_version;
  std::string time;  // the text that was written; "" for none
};

using Managers = std::map<ManagerKey, ManagedSet>;

// nullopt: an entry is unreadable.
std::optional<Managers> ReadManagers(const Json& managed_fields);

// Writes in Kubernetes' order: Apply before Update, then time, then name. null: no managers.
Json WriteManagers(const Managers& managers);

// Keeps at most ten updaters; older ones become "ancient-changes", one per apiVersion.
void CapUpdaters(Managers& managers);

// `"m1" using v1`, `"m1" with subresource "status"`: a manager's name in conflicts.
std::string ManagerText(const ManagerKey& key);

}  // namespace berth::local
