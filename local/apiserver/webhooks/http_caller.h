// local/apiserver/webhooks/http_caller.h — calls webhooks over HTTPS.
//
// A Service reference leads to an entry of a map "NAME.NAMESPACE.svc" → "https://host:port", or
// else to the address of the stored Service (service_address.h). The certificate is checked for
// NAME.NAMESPACE.svc, as Kubernetes does.
//
// Threads: any thread; Call blocks for its timeout at most. One client with persistent connections
// per address and root certificate.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "local/apiserver/registry/webhook_caller.h"
#include "local/apiserver/store/watch_cache.h"
#include "net/client.h"
#include "net/io_pool.h"

namespace berth::local {

class HttpWebhookCaller final : public WebhookCaller {
 public:
  // `cache` has the Services and must outlive every call.
  HttpWebhookCaller(net::IoPool& pool, const WatchCache& cache,
                    std::map<std::string, std::string> services);

  Result<Json> Call(const WebhookTarget& target, const WebhookQuestion& question, Duration timeout,
                    int* http_code) override;

  // Maps the service to `url` from now on.
  void SetService(const std::string& name, const std::string& url);

 private:
  struct Address {
    std::string base_url;     // "https://127.0.0.1:9443"
    std::string server_name;  // the name in the certificate; empty: the host of the URL
    std::string path;         // "/mutate?timeout=10s"
    std::string shown_url;    // the URL that messages show
  };
  Result<Address> Resolve(const WebhookTarget& target, Duration timeout);
  // "https://host:port" of a Service.
  Result<std::string> BaseUrlOf(const WebhookTarget& target, const std::string& server_name);
  Result<std::shared_ptr<net::HttpClient>> ClientFor(const Address& address,
                                                     const std::string& ca_pem);

  net::IoPool& pool_;
  const WatchCache& cache_;
  std::mutex mutex_;
  std::map<std::string, std::string> services_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<net::HttpClient>> clients_;
};

}  // namespace berth::local
