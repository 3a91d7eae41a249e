// local/apiserver/registry/webhook_caller.h — calls webhooks, for admission and conversion.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "local/apiserver/api.h"

namespace berth::local {

struct WebhookTarget {
  std::string url;                // the URL; empty: the service below is called
  std::string service_namespace;  // a service, which the caller maps to an address
  std::string service_name;
  std::string service_path;
  int service_port = 443;
  std::string ca_pem;  // empty: the system's roots
};

// The request: an AdmissionReview or a ConversionReview. Objects are borrowed, not copied: they are
// large, and most callers serialise them at once.
struct WebhookQuestion {
  Json envelope;                     // {apiVersion, kind, request: {…}}
  const Json* object = nullptr;      // becomes request.object
  const Json* old_object = nullptr;  // becomes request.oldObject

  std::string Text() const;
  Json Whole() const;
};

// Threads: any thread. Call blocks for `timeout` at most.
class WebhookCaller {
 public:
  virtual ~WebhookCaller() = default;
  // POSTs `question` and returns the parsed body of a 200. An error has the text that follows
  // "failed to call webhook: ". `http_code` is set if an answer has another code than 200; it may
  // be null.
  virtual Result<Json> Call(const WebhookTarget& target, const WebhookQuestion& question,
                            Duration timeout, int* http_code) = 0;
};

// {url} or {service{namespace,name,path,port}} with caBundle.
WebhookTarget ReadClientConfig(const Json& client_config);

}  // namespace berth::local
