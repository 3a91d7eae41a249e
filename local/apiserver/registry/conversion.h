// local/apiserver/registry/conversion.h — converts objects of custom kinds between versions.
//
// Strategy None changes apiVersion alone; Webhook sends all objects to the CRD's conversion webhook
// in one call. The webhook must return them in order, with unchanged name, namespace and uid.
//
// Threads: any thread; may block for 30 s. Source: Kubernetes CRD versioning.
#pragma once

#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/registry/webhook_caller.h"

namespace berth::local {

// The apiVersion in which objects of a resource are stored: "batch/v1".
std::string StoredVersion(const ResourceInfo& resource);

class Converter {
 public:
  explicit Converter(WebhookCaller* webhooks) : webhooks_(webhooks) {}

  // Objects that are in `api_version` already are returned unchanged.
  ApiResult<std::vector<Json>> Convert(const ResourceInfo& resource, std::vector<Json> objects,
                                       const std::string& api_version) const;
  ApiResult<Json> ConvertOne(const ResourceInfo& resource, Json object,
                             const std::string& api_version) const;

 private:
  ApiResult<std::vector<Json>> CallWebhook(const ResourceInfo& resource,
                                           const std::vector<Json>& objects,
                                           const std::string& api_version) const;
  WebhookCaller* webhooks_;
};

}  // namespace berth::local
