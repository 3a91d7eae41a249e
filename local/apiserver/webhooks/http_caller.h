// local/apiserver/webhooks/http_caller.h — calls webhooks over HTTPS.
//
// Service references are looked up in a map "NAME.NAMESPACE.svc" → "https://host:port"; the
// certificate is checked for NAME.NAMESPACE.svc, as Kubernetes does.
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
#include "net/client.h"
#include "net/io_pool.h"

namespace berth::local {

class HttpWebhookCaller final : public WebhookCaller {
 public:
  HttpWebhookCaller(net::IoPool& pool, std::map<std::string, std::string> services);

  Result<Json> Call(const WebhookTarget& target, const WebhookQuestion& question,
                    Duration timeout) override;

  // Maps the service to `url` from now on.
  void SetService(const std::string& name, const std::string& url);

 private:
  struct Address {
    std::string base_url;     // "https://127.0.0.1:9443"
    std::string server_name;  // for the certificate; empty: that of the URL
    std::string path;         // "/mutate?timeout=10s"
    std::string shown_url;    // as in messages
  };
  Result<Address> Resolve(const WebhookTarget& target, Duration timeout);
  Result<std::shared_ptr<net::HttpClient>> ClientFor(const Address& address,
                                                     const std::string& ca_pem);

  net::IoPool& pool_;
  std::mutex mutex_;
  std::map<std::string, std::string> services_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<net::HttpClient>> clients_;
};

}  // namespace berth::local
