// local/apiserver/registry/request.h — the context of one API request: user, resource, options.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/auth/user.h"
#include "local/apiserver/registry/catalog.h"
#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

// When a write returns. kDurable: once it is on the disk. kSubmitted: possibly earlier; then
// WriteResult::pending completes once the write is on the disk, and the client must not be answered
// before.
enum class WaitFor { kDurable, kSubmitted };

enum class FieldValidation { kIgnore, kWarn, kStrict };

// The annotations of a request's audit event, by key. One thread at a time.
struct AuditAnnotations {
  std::map<std::string, std::string> values;
};

struct RequestContext {
  std::shared_ptr<const ResourceTable> table;  // one catalog state for the whole request
  ResourcePtr resource;
  std::string namespace_name;
  std::string name;
  std::string subresource;
  UserInfo user;
  std::string manager = "berth";  // fieldManager, or from the User-Agent
  FieldValidation field_validation = FieldValidation::kIgnore;
  bool dry_run = false;
  WaitFor wait_for = WaitFor::kDurable;
  std::vector<std::string> warnings;                  // sent as Warning headers
  std::shared_ptr<AuditAnnotations> audit = nullptr;  // null: the request is not audited

  ObjectKey key() const { return {resource->storage, namespace_name, name}; }
};

// A request body as JSON, with the errors of strict decoding ("duplicate field …").
struct Body {
  Json object;
  std::vector<std::string> strict_errors;
  std::string_view text = {};  // the JSON text of `object`; empty: there is none
};

// The result of a write.
struct WriteResult {
  Object object;     // in the version of the request
  StoredPtr stored;  // the stored text, reusable for the answer; null on dry run and conversion
  bool created = false;
  std::shared_ptr<PendingWrite> pending;  // null: the write is complete
};

struct PatchRequest {
  PatchType type = PatchType::kMerge;
  Body body;
  bool force = false;  // for kApply: takes fields from other managers
};

struct DeleteResult {
  Object object;      // the object with its deletion pending, or its last state
  bool gone = false;  // the object is removed
};

}  // namespace berth::local
