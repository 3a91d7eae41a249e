#include "local/apiserver/webhooks/match_input.h"

#include <algorithm>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/webhooks/admission_review.h"

namespace berth::local {
namespace {

Json MatchedLabels(const Json* object) {
  if (object == nullptr) return Json();
  const Json* labels = At(*object, {"metadata", "labels"});
  return labels == nullptr ? Json::object() : *labels;
}

}  // namespace

MatchInput MakeMatchInput(const Store& store, const AdmissionRequest& request, const Json* object) {
  const RequestContext& context = *request.context;
  const ResourceInfo& resource = *context.resource;
  MatchInput input;
  input.operation = OperationName(request.operation);
  input.group = resource.id.group;
  input.version = resource.id.version;
  input.resource = resource.id.resource;
  input.subresource = context.subresource;
  input.name = request.name;
  input.namespaced = resource.namespaced;
  if (resource.crd != nullptr) {
    for (const auto& [version, known] : resource.crd->versions) {
      if (version != resource.id.version) input.other_versions.push_back(version);
    }
    std::reverse(input.other_versions.begin(), input.other_versions.end());
  }
  input.object_labels = MatchedLabels(object);
  input.old_object_labels = MatchedLabels(request.old_object);
  if (resource.storage == "namespaces") {
    input.namespace_labels = MatchedLabels(object != nullptr ? object : request.old_object);
  } else if (resource.namespaced) {
    const Object json = NamespaceOfRequest(store, request);
    input.namespace_labels = json == nullptr ? Json::object() : MatchedLabels(json.get());
  }
  return input;
}

Object NamespaceOfRequest(const Store& store, const AdmissionRequest& request) {
  const RequestContext& context = *request.context;
  if (!context.resource->namespaced) return nullptr;
  const StoredPtr stored = store.GetLatest({"namespaces", "", context.namespace_name});
  return stored == nullptr ? nullptr : stored->json();
}

AccessAttributes ResourceOfRequest(const AdmissionRequest& request) {
  const RequestContext& context = *request.context;
  const ResourceInfo& resource = *context.resource;
  AccessAttributes attributes;
  attributes.group = resource.id.group;
  attributes.version = resource.id.version;
  attributes.resource = resource.id.resource;
  attributes.subresource = context.subresource;
  attributes.namespace_name =
      resource.storage == "namespaces" ? request.name : context.namespace_name;
  attributes.name = request.name;
  return attributes;
}

}  // namespace berth::local
