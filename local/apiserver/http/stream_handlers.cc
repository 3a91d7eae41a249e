#include "local/apiserver/http/stream_handlers.h"

#include <utility>

#include "base/strings.h"
#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/http/channel_messages.h"
#include "local/apiserver/http/pod_containers.h"
#include "local/apiserver/http/port_session.h"
#include "local/apiserver/http/program_session.h"
#include "local/apiserver/http/request_access.h"
#include "local/apiserver/http/spdy_channels.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/name_rules.h"
#include "net/upgrade.h"

namespace berth::local {
namespace {

ApiError StreamRequestError(std::string message) {
  return {400, "BadRequest", std::move(message), nullptr};
}

ApiError NoUpgrade(const net::Request& request, const std::string& subresource) {
  const std::string served = subresource + " is served over WebSockets and " + std::string(kSpdy);
  const std::string_view asked = request.headers.Find("Upgrade");
  if (asked.empty()) return StreamRequestError("Upgrade request required: " + served);
  return StreamRequestError(served + ", not over " + std::string(asked));
}

bool AsksForSpdy(const net::Request& request) { return net::AsksForUpgrade(request, kSpdy); }

// The headers that offer protocols of streams and tell the chosen one.
constexpr const char* kSpdyProtocols = "X-Stream-Protocol-Version";
constexpr const char* kWebSocketProtocols = "Sec-WebSocket-Protocol";

struct KnownProtocols {
  std::vector<std::string_view> of_spdy;
  std::vector<std::string_view> of_web_sockets;
};

// The first of the client's protocols that is known. 400: there is none.
ApiResult<std::string> ChooseStreams(const net::Request& request, const KnownProtocols& all) {
  const bool is_spdy = AsksForSpdy(request);
  const char* header = is_spdy ? kSpdyProtocols : kWebSocketProtocols;
  const auto& known = is_spdy ? all.of_spdy : all.of_web_sockets;
  std::string chosen = ChooseProtocol(net::ListedValues(request, header), known);
  if (!chosen.empty()) return chosen;
  std::string names;
  for (const std::string_view name : known) {
    names.append(names.empty() ? "" : " or ").append(name);
  }
  return StreamRequestError(std::string(header) + ": " + names + " is needed");
}

std::shared_ptr<net::Duplex> StartUpgrade(const Exchange& exchange, const std::string& protocol) {
  net::Headers headers{{"Audit-Id", exchange.audit_id}};
  const bool is_spdy = AsksForSpdy(exchange.request);
  if (is_spdy) headers.Add(kSpdyProtocols, protocol);
  return exchange.responder->StartUpgrade(exchange.request, is_spdy ? std::string(kSpdy) : protocol,
                                          std::move(headers));
}

std::shared_ptr<ProgramChannels> OpenChannels(const Exchange& exchange, const AskedChannels& asked,
                                              const std::string& protocol, net::IoPool& pool) {
  auto duplex = StartUpgrade(exchange, protocol);
  if (!AsksForSpdy(exchange.request)) return MakeWebSocketChannels(std::move(duplex));
  auto channels = std::make_shared<SpdyChannels>(std::move(duplex), asked);
  channels->LimitOpening(*pool.MakeStrand());
  return channels;
}

std::vector<std::string> AllOf(const Target& target, std::string_view name) {
  std::vector<std::string> values;
  const auto [begin, end] = target.query.equal_range(name);
  for (auto at = begin; at != end; ++at) values.push_back(at->second);
  return values;
}

// What the request asks for, as admission control sees it.
Json OptionsOf(const Target& target, const std::string& subresource) {
  Json options{{"apiVersion", "v1"}, {"kind", "PodPortForwardOptions"}};
  if (subresource == "portforward") {
    for (const std::string& values : AllOf(target, "ports")) {
      for (const std::string_view value : Split(values, ',')) {
        if (const auto port = ParseInt64(value)) options["ports"].push_back(*port);
      }
    }
    return options;
  }
  options["kind"] = subresource == "exec" ? "PodExecOptions" : "PodAttachOptions";
  for (const char* flag : {"stdin", "stdout", "stderr", "tty"}) {
    if (target.IsTrue(flag)) options[flag] = true;
  }
  if (const std::string container = target.Get("container"); !container.empty()) {
    options["container"] = container;
  }
  if (subresource == "exec") options["command"] = AllOf(target, "command");
  return options;
}

}  // namespace

bool StreamHandlers::Serves(const std::string& subresource) {
  return subresource == "exec" || subresource == "attach" || subresource == "portforward";
}

void StreamHandlers::SetStreams(std::shared_ptr<PodStreams> streams) {
  const std::lock_guard lock(mutex_);
  streams_ = std::move(streams);
}

std::shared_ptr<PodStreams> StreamHandlers::streams() {
  const std::lock_guard lock(mutex_);
  return streams_;
}

void StreamHandlers::Handle(Exchange& exchange, RequestContext& context) {
  const AccessAttributes creates = AttributesOf("POST", exchange.target, exchange.api);
  if (auto error = CheckAccess(registry_.roles(), exchange.user, creates)) {
    return exchange.SendError(*error);
  }
  auto streams = this->streams();
  if (streams == nullptr || pool_ == nullptr) {
    return exchange.SendError(
        UnavailableStatus("nothing runs pods here, so no program can be reached"));
  }
  auto stored = registry_.Get(context);
  if (!stored) return exchange.SendError(stored.error());
  const Object pod = (*stored)->json();
  if (pod == nullptr) return exchange.SendError(InternalStatus("the pod cannot be read"));
  Json options = OptionsOf(exchange.target, context.subresource);
  if (auto error = registry_.AdmitConnect(context, std::move(options))) {
    return exchange.SendError(*error, context.warnings);
  }
  if (!net::AsksForWebSocket(exchange.request) && !AsksForSpdy(exchange.request)) {
    return exchange.SendError(NoUpgrade(exchange.request, context.subresource));
  }
  if (context.subresource == "portforward") {
    ForwardPorts(exchange, context, *pod, std::move(streams));
  } else {
    StartProgram(exchange, context, *pod, streams);
  }
}

bool StreamHandlers::AddSession(Exchange& exchange, const std::shared_ptr<StreamSession>& session) {
  if (sessions_.Add(session, exchange.user.name)) return true;
  exchange.SendError({429,
                      "TooManyRequests",
                      "too many sessions of exec, attach and portforward are open",
                      {{"retryAfterSeconds", 10}}});
  return false;
}

void StreamHandlers::ForwardPorts(Exchange& exchange, const RequestContext& context,
                                  const Json& pod, std::shared_ptr<PodStreams> streams) {
  const auto protocol =
      ChooseStreams(exchange.request, {{kPortForward}, {kPortTunnel, kChannelsV4}});
  if (!protocol) return exchange.SendError(protocol.error());
  std::optional<std::vector<std::uint16_t>> ports;
  if (*protocol == kChannelsV4) {
    ports.emplace();
    for (const std::string& values : AllOf(exchange.target, "ports")) {
      for (const std::string_view value : Split(values, ',')) {
        const auto port = ParseInt64(value);
        if (!port || !IsPortNumber(*port)) {
          return exchange.SendError(StreamRequestError("ports: \"" + std::string(value) +
                                                       "\" is no port from 1 to 65535"));
        }
        ports->push_back(static_cast<std::uint16_t>(*port));
      }
    }
    if (ports->empty() || ports->size() > PortSession::kMostPorts) {
      return exchange.SendError(StreamRequestError("ports: 1 to 32 ports are needed"));
    }
  }
  const auto session = std::make_shared<PortSession>(
      PodPlace{context.namespace_name, context.name, UidOf(pod)}, std::move(streams), *pool_);
  if (!AddSession(exchange, session)) return;
  session->Begin(StartUpgrade(exchange, *protocol), ports);
}

void StreamHandlers::StartProgram(Exchange& exchange, const RequestContext& context,
                                  const Json& pod, const std::shared_ptr<PodStreams>& streams) {
  const Target& target = exchange.target;
  auto container = ContainerFor(pod, target.Get("container"));
  if (!container) return exchange.SendError(container.error());
  ProgramRequest request;
  request.place = {context.namespace_name, context.name, UidOf(pod)};
  request.container = *container;
  request.wants_input = target.IsTrue("stdin");
  request.wants_output = target.IsTrue("stdout");
  request.is_terminal = target.IsTrue("tty");
  request.wants_error = target.IsTrue("stderr") && !request.is_terminal;
  if (!request.wants_input && !request.wants_output && !request.wants_error) {
    return exchange.SendError(
        StreamRequestError("you must specify at least 1 of stdin, stdout, stderr"));
  }
  if (context.subresource == "exec") {
    request.command = AllOf(target, "command");
    if (request.command.empty() || request.command[0].empty()) {
      return exchange.SendError(
          StreamRequestError("you must specify at least one command for the container"));
    }
  }
  // v5 adds the end of the input to WebSockets, which SPDY has.
  auto protocol = ChooseStreams(exchange.request, {{kChannelsV4}, {kChannelsV5, kChannelsV4}});
  if (!protocol) return exchange.SendError(protocol.error());
  auto session = std::make_shared<ProgramSession>();
  if (!AddSession(exchange, session)) return;
  const AskedChannels asked{request.wants_input, request.wants_output, request.wants_error,
                            request.is_terminal};
  streams->StartProgram(
      request, session,
      [session, asked, protocol = *std::move(protocol), pool = pool_,
       kept = exchange.shared_from_this()](ApiResult<std::unique_ptr<RunningProgram>> program) {
        if (!program) return kept->SendError(program.error());
        session->Begin(OpenChannels(*kept, asked, protocol, *pool), std::move(*program));
      });
}

}  // namespace berth::local
