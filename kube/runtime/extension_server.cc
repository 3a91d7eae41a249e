#include "kube/runtime/extension_server.h"

#include <utility>

#include "base/log/log.h"
#include "base/strings.h"
#include "net/io_pool.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMostConnections = 512;
constexpr std::chrono::seconds kIdle{30};
constexpr int kMostReads = 8;  // under way at once

using ResponderPtr = std::shared_ptr<net::Responder>;

net::Response Refused(const AccessAnswer& access, const ExtensionRequest& request,
                      const std::string& group) {
  using Outcome = AccessAnswer::Outcome;
  switch (access.outcome) {
    case Outcome::kNoUser: return StatusAnswer(401, "Unauthorized", "Unauthorized");
    case Outcome::kOverloaded:
      return StatusAnswer(503, "ServiceUnavailable", "too many reviews of rights are under way");
    case Outcome::kDenied: {
      std::string message = request.resource + "." + group + " \"" + request.name +
                            "\" is forbidden: User \"" + access.user + "\" cannot get resource \"" +
                            request.resource + "/" + request.subresource + "\" in API group \"" +
                            group + "\"";
      message += request.namespace_name.empty()
                     ? " at the cluster scope"
                     : " in the namespace \"" + request.namespace_name + "\"";
      return StatusAnswer(403, "Forbidden", message);
    }
    case Outcome::kAllowed:
    case Outcome::kFailed: break;
  }
  LogWarning("a request for " + group + " could not be reviewed", {{"error", access.error}});
  return StatusAnswer(500, "InternalError", "the right to read could not be reviewed");
}

}  // namespace

struct ExtensionServer::Shared : std::enable_shared_from_this<Shared> {
  Shared(net::IoPool& pool, ExtensionApi the_api, AccessGate the_gate)
      : api(std::move(the_api)), gate(std::move(the_gate)), answers(pool.MakeStrand()) {}

  void Handle(const net::Request& request, const ResponderPtr& responder) {
    ExtensionApi::Route route = api.RouteOf(request);
    if (route.answer) return responder->Send(*std::move(route.answer));
    AccessQuestion question;
    question.verb = "get";
    {
      const std::lock_guard lock(mutex);
      question.user = UserOf(request, trust);
    }
    if (!question.user) question.token = BearerTokenOf(request);
    if (!question.user && question.token.empty()) {
      return responder->Send(StatusAnswer(401, "Unauthorized", "Unauthorized"));
    }
    const ExtensionRequest& asked = *route.request;
    question.resource = AccessResource{api.group().name,  asked.version,        asked.resource,
                                       asked.subresource, asked.namespace_name, asked.name};
    gate(std::move(question), [self = shared_from_this(), responder,
                               asked = *std::move(route.request)](const AccessAnswer& access) {
      if (access.outcome != AccessAnswer::Outcome::kAllowed) {
        return responder->Send(Refused(access, asked, self->api.group().name));
      }
      self->Read(asked, responder);
    });
  }

  void Read(const ExtensionRequest& request, const ResponderPtr& responder) {
    if (reads.fetch_add(1) >= kMostReads) {
      reads.fetch_sub(1);
      net::Response busy = StatusAnswer(429, "TooManyRequests", "too many requests are under way");
      busy.headers.Add("Retry-After", "1");
      return responder->Send(std::move(busy));
    }
    // Large answers are encoded off the strand that decides.
    api.Handle(request, [self = shared_from_this(), responder](ExtensionApi::Answer answer) {
      self->answers->Post([self, responder, answer = std::move(answer)] {
        responder->Send(answer());
        self->reads.fetch_sub(1);
      });
    });
  }

  const ExtensionApi api;
  const AccessGate gate;
  const std::unique_ptr<Executor> answers;
  std::atomic<int> reads{0};
  std::mutex mutex;
  FrontProxyTrust trust;  // guarded by mutex
};

Result<std::unique_ptr<ExtensionServer>> ExtensionServer::Start(net::IoPool& pool,
                                                                ExtensionServerOptions options,
                                                                ExtensionApi api, AccessGate gate) {
  net::ServerOptions server;
  server.address = std::move(options.address);
  server.port = options.port;
  server.tls = std::move(options.tls);
  server.max_connections = kMostConnections;
  server.max_connections_per_peer = options.max_connections_per_peer;
  server.idle_timeout = kIdle;
  auto shared = std::make_shared<Shared>(pool, std::move(api), std::move(gate));
  std::unique_ptr<ExtensionServer> made(new ExtensionServer(shared));
  BERTH_TRY(made->server_,
            net::HttpServer::Start(pool, std::move(server),
                                   [shared](const net::Request& request,
                                            const std::shared_ptr<net::Responder>& responder) {
                                     shared->Handle(request, responder);
                                   }));
  return made;
}

Status ExtensionServer::UseFrontProxy(const FrontProxyTrust& trust) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->trust = {};
  }
  BERTH_CHECK_OK(server_->ReplaceClientCa(trust.client_ca_pem));
  const std::lock_guard lock(shared_->mutex);
  shared_->trust = trust;
  return OkStatus();
}

}  // namespace berth::kube
