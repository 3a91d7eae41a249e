// local/apiserver/registry/conversion.h — objects of custom kinds from one version to another.
//
// Strategy None changes apiVersion alone; Webhook asks the CRD's conversion webhook, all objects in
// one call. Name, namespace and uid come back unchanged, in the same order, or the call has failed.
//
// Threads: any; may block for 30 s. Source: Kubernetes CRD versioning.
#pragma once

#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/registry/webhook_caller.h"

namespace berth::local {

class Converter {
 public:
  explicit Converter(WebhookCaller* webhooks) : webhooks_(webhooks) {}

  // Objects that already are in `api_version` are left alone.
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
