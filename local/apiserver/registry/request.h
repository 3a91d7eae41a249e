// local/apiserver/registry/request.h — who asks for what: the context of one API request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/catalog.h"
#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/store/stored_object.h"

namespace berth::local {

struct UserInfo {
  std::string name = "system:apiserver";
  std::string uid;
  std::vector<std::string> groups = {"system:masters", "system:authenticated"};
};

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
};

}  // namespace berth::local
