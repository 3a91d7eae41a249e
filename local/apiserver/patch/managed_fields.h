// local/apiserver/patch/managed_fields.h — field ownership: tracks updates, and does server-side
// apply.
//
// An object carries its managers in metadata.managedFields. Every write calls TrackUpdate or Apply
// as its last step before validation and storage.
//
// Threads: pure functions. Source: Kubernetes server-side apply; structured-merge-diff, restated.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/patch/field_set.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

struct ManagerContext {
  const TypeNode* type = nullptr;  // the object's type at `api_version`; never null
  std::string api_version;         // "batch/v1": the request's
  std::string manager;             // fieldManager, or ManagerFromUserAgent()
  std::string subresource;         // "" or "status", …
  WallTime now{};
  // The fields that the endpoint ignores: status on the main endpoint, all but status on /status.
  FieldSet reset_fields;
  // Converts the object, and its type, to another apiVersion, for entries of that version. Empty
  // functions: such entries are compared unconverted. An error means that the version is not
  // served: its entries are dropped.
  std::function<ApiResult<Json>(const Json& object, const std::string& api_version)> convert;
  std::function<const TypeNode*(const std::string& api_version)> type_at;
};

// "kubectl" of "kubectl/v1.33.0 (linux/amd64) …"; at most 128 bytes.
std::string ManagerFromUserAgent(std::string_view user_agent);

// For POST, PUT and patches other than apply. `live`: the stored object, null on create. Sets
// `updated.metadata.managedFields`; the managedFields of the request replace the live ones (so that
// clients can edit them), unless they are unreadable. Except on create, does nothing on an object
// whose live managedFields are empty.
void TrackUpdate(const Json* live, Json& updated, const ManagerContext& context);

struct AppliedObject {
  Json object;
  bool changed = true;  // false: object and managers are unchanged, skip the write
};

// Server-side apply of `config` on `live` (null: create). The result carries its managedFields.
// Errors: 409 Conflict with causes unless `force`; 400 for managedFields in `config`; 500 for
// duplicate list keys and undeclared fields, in Kubernetes' words.
enum class ConflictPolicy : std::uint8_t { kFail, kForce };
ApiResult<AppliedObject> ApplyConfiguration(const Json* live, const Json& config,
                                            const ManagerContext& context, ConflictPolicy policy);

// metadata and spec, for /status; status alone, for the main endpoint of kinds that have /status.
FieldSet ResetAllButStatus(const std::string& api_version);
FieldSet ResetStatus();

}  // namespace berth::local
