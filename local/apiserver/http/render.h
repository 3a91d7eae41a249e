// local/apiserver/http/render.h — renders objects and lists in the requested form.
//
// Source: Kubernetes API concepts; Table and PartialObjectMetadata of meta.k8s.io/v1.
#pragma once

#include <string>

#include "base/clock.h"
#include "local/apiserver/http/negotiation.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {

struct RenderOptions {
  Negotiated form;
  std::string include_object;  // what a Table's rows include: "", "None", "Metadata", "Object"
  bool with_columns = true;    // a Table's columnDefinitions
  WallTime now;
};

std::string RenderObject(const ResourceInfo& resource, const StoredPtr& object,
                         const RenderOptions& options);
// Errors: those of CheckCancellation, since large lists take long.
ApiResult<std::string> RenderList(const ResourceInfo& resource, const ListResult& list,
                                  const RenderOptions& options);

}  // namespace berth::local
