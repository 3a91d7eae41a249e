// local/apiserver/registry/request.h — who asks for what: the context of one API request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/catalog.h"
#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

struct UserInfo {
  std::string name = "system:apiserver";
  std::string uid;
  std::vector<std::string> groups = {"system:masters", "system:authenticated"};
};

// What a write waits for. kSubmitted: nothing; WriteResult::pending tells when the write has
// happened, and whoever asked must not be answered before. The registry may wait all the same.
enum class WaitFor { kDurable, kSubmitted };

enum class FieldValidation { kIgnore, kWarn, kStrict };

struct RequestContext {
  std::shared_ptr<const ResourceTable> table;  // one state of the catalog for the whole request
  ResourcePtr resource;
  std::string namespace_name;
  std::string name;
  std::string subresource;
  UserInfo user;
  std::string manager = "berth";  // fieldManager, or from the User-Agent
  FieldValidation field_validation = FieldValidation::kIgnore;
  bool dry_run = false;
  WaitFor wait_for = WaitFor::kDurable;
  std::vector<std::string> warnings;  // become Warning headers

  ObjectKey key() const { return {resource->storage, namespace_name, name}; }
};

// A request body as JSON, with what decoding found ("duplicate field …").
struct Body {
  Json object;
  std::vector<std::string> strict_errors;
};

// What a write gives back.
struct WriteResult {
  Object object;     // in the version of the request
  StoredPtr stored;  // the same, where its text can be used; null on dry run and conversion
  bool created = false;
  std::shared_ptr<PendingWrite> pending;  // null: what there was to do has been done
};

}  // namespace berth::local
