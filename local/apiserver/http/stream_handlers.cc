#include "local/apiserver/http/stream_handlers.h"

#include <utility>

#include "base/strings.h"
#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/http/channel_messages.h"
#include "local/apiserver/http/pod_containers.h"
#include "local/apiserver/http/port_session.h"
#include "local/apiserver/http/program_session.h"
#include "local/apiserver/http/request_access.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"
#include "net/upgrade.h"

namespace berth::local {
namespace {

ApiError StreamRequestError(std::string message) {
  return {400, "BadRequest", std::move(message), nullptr};
}

ApiError NoWebSocket(const net::Request& request, const std::string& subresource) {
  if (request.headers.Find("Upgrade").empty()) {
    return StreamRequestError("Upgrade request required: " + subresource +
                              " is served over WebSockets");
  }
  return StreamRequestError(
      subresource + " is served over WebSockets alone, not over " +
      std::string(request.headers.Find("Upgrade")) +
      ": use kubectl 1.31 or newer, or 1.29 and 1.30 with "
      "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true and KUBECTL_PORT_FORWARD_WEBSOCKETS=true");
}

// What a WebSocket for the pod would be refused with, as far as the stored pod tells.
std::optional<ApiError> RefusalOf(const Json& pod, const Target& target,
                                  const std::string& subresource) {
  const auto not_running = [&](const std::string& what) {
    return StreamRequestError(what + " is not running");
  };
  if (subresource == "portforward") {
    if (TextAt(pod, {"status", "phase"}) == "Running") return std::nullopt;
    return not_running("pod " + NameOf(pod));
  }
  const auto container = ContainerFor(pod, target.Get("container"));
  if (!container) return container.error();
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& status : ArrayAt(pod, {"status", list})) {
      const bool is_it = TextAt(status, {"name"}) == *container;
      if (is_it && At(status, {"state", "running"}) != nullptr) return std::nullopt;
    }
  }
  return not_running("container " + *container + " of pod " + NameOf(pod));
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
  if (streams == nullptr) {
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
  if (!net::AsksForWebSocket(exchange.request)) {
    // kubectl shows the answer to its second, older form of the request.
    const auto refusal = RefusalOf(*pod, exchange.target, context.subresource);
    return exchange.SendError(refusal ? *refusal
                                      : NoWebSocket(exchange.request, context.subresource));
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
  const std::string protocol = ChooseProtocol(
      net::ListedValues(exchange.request, "Sec-WebSocket-Protocol"), {kPortTunnel, kChannelsV4});
  if (protocol.empty() || pool_ == nullptr) {
    return exchange.SendError(StreamRequestError(
        "Sec-WebSocket-Protocol: " + std::string(kPortTunnel) + " or v4.channel.k8s.io is needed"));
  }
  std::optional<std::vector<std::uint16_t>> ports;
  if (protocol == kChannelsV4) {
    ports.emplace();
    for (const std::string& values : AllOf(exchange.target, "ports")) {
      for (const std::string_view value : Split(values, ',')) {
        const auto port = ParseInt64(value);
        if (!port || *port < 1 || *port > 65535) {
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
  session->Begin(exchange.responder->StartUpgrade(exchange.request, protocol,
                                                  {{"Audit-Id", exchange.audit_id}}),
                 ports);
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
  const std::string protocol = ChooseProtocol(
      net::ListedValues(exchange.request, "Sec-WebSocket-Protocol"), {kChannelsV5, kChannelsV4});
  if (protocol.empty()) {
    return exchange.SendError(StreamRequestError(
        "Sec-WebSocket-Protocol: v5.channel.k8s.io or v4.channel.k8s.io is needed"));
  }
  auto session = std::make_shared<ProgramSession>();
  if (!AddSession(exchange, session)) return;
  streams->StartProgram(
      request, session,
      [session, protocol,
       kept = exchange.shared_from_this()](ApiResult<std::unique_ptr<RunningProgram>> program) {
        if (!program) return kept->SendError(program.error());
        session->Begin(
            kept->responder->StartUpgrade(kept->request, protocol, {{"Audit-Id", kept->audit_id}}),
            std::move(*program));
      });
}

}  // namespace berth::local
