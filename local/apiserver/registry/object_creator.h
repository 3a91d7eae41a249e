// local/apiserver/registry/object_creator.h — POST, and the creation by an update or an apply of an
// object that does not exist.
//
//   body → decode → namespace → managedFields → mutating admission
//        → uid, name → strategy: prepare, validate → rights, size, validating admission → commit
//
// A generated name that is taken is generated again, eight times at most.
//
// Threads: any; may block (webhooks, the disk).
// Errors: 405 for a kind that is not created, 400 and 422 for the object, 409 AlreadyExists, and
// those of the stages.
// Source: k8s.io/apiserver registry/rest (create.go), restated.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/identifiers.h"
#include "local/apiserver/registry/namespace_objects.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/service_addresses.h"
#include "local/apiserver/registry/write_stages.h"

namespace berth::local {

class ObjectCreator {
 public:
  // `service_prefix`: service_addresses.h.
  ObjectCreator(const WriteStages& stages, Identifiers& identifiers,
                const NamespaceObjects& namespace_objects, std::string service_prefix)
      : stages_(stages),
        identifiers_(identifiers),
        namespace_objects_(namespace_objects),
        service_addresses_(std::move(service_prefix)) {}

  ApiResult<WriteResult> Create(RequestContext& context, Body body);
  // Creates an object that is decoded already.
  ApiResult<WriteResult> CreateDecoded(RequestContext& context, Json object, Tracking tracking);

 private:
  void FillSystemMetadata(RequestContext& context, Json& object);
  // The server and the kind's strategy complete the object. Returns the refusal if the object is
  // not valid.
  std::optional<ApiError> Prepare(RequestContext& context, Json& object);
  ApiResult<WriteResult> Commit(RequestContext& context, Json object);

  const WriteStages stages_;
  Identifiers& identifiers_;
  const NamespaceObjects& namespace_objects_;
  ServiceAddresses service_addresses_;
};

}  // namespace berth::local
