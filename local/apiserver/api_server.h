// local/apiserver/api_server.h — a Kubernetes API server as an object: store, registry, HTTPS
// front.
//
//     auto server = ApiServer::Start({.data_directory = "/var/lib/berth"});
//     (*server)->api().Create(…);   kubectl --kubeconfig <(*server)->kubeconfig()>
//
// Threads: Start and Stop by the owner, accessors by any thread.
// Errors of Start: kUnavailable (port taken, data directory in use, disk), kInvalid (database of
// another kind or newer), each with the remedy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/apiserver/log_source.h"
#include "local/apiserver/pod_streams.h"
#include "net/http.h"

namespace berth::local {

struct ApiServerOptions {
  // Folder of database, certificates and token; empty: everything is in memory.
  std::string data_directory;
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free port
  bool serve_http = true;  // false: in-process Api only
  // "NAME.NAMESPACE.svc" → "https://host:port", for webhooks that name a service.
  std::map<std::string, std::string> webhook_services;
  std::string service_prefix = "127.96";  // addresses of Services: RegistryOptions
  LogSource* logs = nullptr;              // must outlive the server; null: logs cannot be read
  // File of the audit log (audit/audit_log.h); empty: none. Requests over HTTPS are logged.
  std::string audit_log;
  std::string audit_policy;  // file (audit.k8s.io/v1 Policy); empty: AuditPolicy::Default
  std::size_t audit_log_bytes = 100UL << 20U;  // the size at which a file is rotated
  int audit_log_kept = 10;                     // rotated files
  const Clock* clock = nullptr;                // null: real time
  // Runs the callbacks of api().Watch, for virtual time; null: a thread runs them.
  Executor* watch_executor = nullptr;
  std::uint64_t seed = 0;  // for uids and generated names; 0: random
  int io_threads = 2;
};

class ApiServer {
 public:
  static Result<std::unique_ptr<ApiServer>> Start(ApiServerOptions options);
  virtual ~ApiServer() = default;  // calls Stop

  virtual WholeApi& api() = 0;
  virtual std::uint16_t port() const = 0;
  virtual const std::string& url() const = 0;  // "https://127.0.0.1:6443"
  virtual const std::string& ca_pem() const = 0;
  virtual const std::string& token() const = 0;
  virtual const std::string& kubeconfig() const = 0;  // text; auth/credentials.h writes the file

  // A server certificate of this cluster's authority, for webhooks on this machine; `dns_names`
  // like "berth-webhook.kueue-system.svc".
  struct Identity {
    std::string certificate_chain_pem;
    std::string private_key_pem;
  };
  virtual Result<Identity> IssueServerCertificate(const std::string& common_name,
                                                  const std::vector<std::string>& dns_names) = 0;
  // Answers requests of an API group that this server does not have, for users it has
  // authenticated. The handler gets the requests of /apis/GROUP/…, and requests of /apis and
  // /openapi/v3 for the group's entries in these documents. The handler may block; null removes the
  // handler.
  using ExtensionHandler = std::function<net::Response(const net::Request&)>;
  virtual void SetExtension(const std::string& group, ExtensionHandler handler) = 0;
  // Serves pods/exec, pods/attach and pods/portforward; null: they are no longer served.
  virtual void SetPodStreams(std::shared_ptr<PodStreams> streams) = 0;
  virtual void SetWebhookService(const std::string& name, const std::string& url) = 0;

  // Ends watches and connections, then the store. Idempotent. Every WatchHandle of api() must be
  // destroyed earlier.
  virtual void Stop() = 0;
};

}  // namespace berth::local
