// local/apiserver/registry/crd_conversion.h — converts objects of custom kinds between versions.
//
// Strategy None changes apiVersion alone; Webhook sends all objects to the CRD's conversion webhook
// in one call. The webhook must return them in order, with unchanged name, namespace and uid.
//
// Threads: any thread; may block for 30 s. Source: Kubernetes CRD versioning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/registry/webhook_caller.h"
#include "local/apiserver/store/stored_object.h"

namespace berth::local {

// The apiVersion in which objects of a resource are stored: "batch/v1".
std::string StoredVersion(const ResourceInfo& resource);
// Whether the version of `resource` is the one in which its objects are stored.
bool IsStorageVersion(const ResourceInfo& resource);

class Converter {
 public:
  explicit Converter(WebhookCaller* webhooks) : webhooks_(webhooks) {}

  // Objects that are in `api_version` already are returned unchanged.
  ApiResult<std::vector<Json>> Convert(const ResourceInfo& resource, std::vector<Json> objects,
                                       const std::string& api_version) const;
  ApiResult<Json> ConvertOne(const ResourceInfo& resource, Json object,
                             const std::string& api_version) const;

  // Converts an object of a request to the version in which it is stored, and prunes and defaults
  // it by that version's schema. An object that has the version is left unchanged.
  std::optional<ApiError> ToStorageVersion(const ResourceInfo& resource, Json& object) const;
  // Returns a stored object in the version of `resource` and in the form of its schema: the same
  // pointer if the object has both.
  ApiResult<StoredPtr> ToVersion(const ResourceInfo& resource, const StoredPtr& object) const;
  // Does this for many objects, with one call of a conversion webhook.
  std::optional<ApiError> ToVersion(const ResourceInfo& resource,
                                    std::vector<StoredPtr>& objects) const;

 private:
  ApiResult<std::vector<Json>> CallWebhook(const ResourceInfo& resource,
                                           const std::vector<Json>& objects,
                                           const std::string& api_version) const;
  WebhookCaller* webhooks_;
};

}  // namespace berth::local
