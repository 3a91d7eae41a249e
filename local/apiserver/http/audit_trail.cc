#include "local/apiserver/http/audit_trail.h"

#include <utility>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/yaml/yaml.h"
#include "base/rfc3339.h"
#include "local/apiserver/http/bodies.h"
#include "local/apiserver/http/kept_stream.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr int kFirstError = 400;
constexpr int kSwitchingProtocols = 101;

Json UserOf(const UserInfo& user) {
  Json json{{"username", user.name}, {"groups", user.groups}};
  if (!user.uid.empty()) json["uid"] = user.uid;
  if (!user.extra.empty()) json["extra"] = user.extra;
  return json;
}

Json ReferenceOf(const AccessAttributes& access) {
  Json reference = Json::object();
  const std::pair<const char*, const std::string&> fields[] = {
      {"resource", access.resource},  {"namespace", access.namespace_name},
      {"name", access.name},          {"apiGroup", access.group},
      {"apiVersion", access.version}, {"subresource", access.subresource}};
  for (const auto& [field, value] : fields) {
    if (!value.empty()) reference[field] = value;
  }
  return reference;
}

// "127.0.0.1" of "127.0.0.1:40312", "::1" of "[::1]:40312".
std::string HostOf(const std::string& peer) {
  std::string host = peer.substr(0, peer.rfind(':'));
  if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return host;
}

// What a Status in the body tells of a failure.
Json ResponseStatus(int code, const Json& body) {
  Json status{{"metadata", Json::object()}, {"code", code}};
  if (code < kFirstError || TextAt(body, {"kind"}) != "Status") return status;
  for (const char* field : {"status", "message", "reason", "details"}) {
    if (const Json* value = Member(body, field)) status[field] = *value;
  }
  return status;
}

}  // namespace

// The event of one request, and what the answer adds.
class AuditTrail::Record {
 public:
  Record(AuditLog& log, const Clock* clock, AuditDecision decision, Json event,
         std::shared_ptr<AuditNotes> notes)
      : log_(log),
        clock_(clock),
        decision_(decision),
        event_(std::move(event)),
        notes_(std::move(notes)) {}

  void Log(AuditStage stage, int code, const std::string* body) const {
    if (!decision_.Logs(stage)) return;
    Json event = event_;
    event["stage"] = NameOfStage(stage);
    event["stageTimestamp"] = FormatMicroTime(clock_->Now());
    if (stage != AuditStage::kRequestReceived) {
      const bool wants_body =
          code >= kFirstError || decision_.level == AuditLevel::kRequestResponse;
      Json parsed;
      if (body != nullptr && wants_body) {
        if (auto read = api::ParseJson(*body)) parsed = *std::move(read);
      }
      event["responseStatus"] = ResponseStatus(code, parsed);
      if (decision_.level == AuditLevel::kRequestResponse && parsed.is_object()) {
        event["responseObject"] = std::move(parsed);
      }
      if (!notes_->values.empty()) event["annotations"] = notes_->values;
      if (!notes_->name.empty() && event.contains("objectRef")) {
        event["objectRef"]["name"] = notes_->name;
      }
    }
    log_.Add(api::FormatJson(event));
  }

 private:
  AuditLog& log_;
  const Clock* const clock_;
  const AuditDecision decision_;
  const Json event_;
  const std::shared_ptr<AuditNotes> notes_;
};

// Logs the end of a stream or of a session when its last reference is dropped.
class AuditTrail::EndOfStream {
 public:
  EndOfStream(std::shared_ptr<const Record> record, int code)
      : record_(std::move(record)), code_(code) {}
  EndOfStream(const EndOfStream&) = delete;
  EndOfStream& operator=(const EndOfStream&) = delete;
  ~EndOfStream() { record_->Log(AuditStage::kResponseComplete, code_, nullptr); }

 private:
  const std::shared_ptr<const Record> record_;
  const int code_;
};

class AuditTrail::RecordedResponder final : public net::Responder {
 public:
  RecordedResponder(std::shared_ptr<net::Responder> responder, std::shared_ptr<const Record> record)
      : responder_(std::move(responder)), record_(std::move(record)) {}

  bool HasPeerLeft() const override { return responder_->HasPeerLeft(); }
  // The event is in the queue before the client has the answer.
  void Send(net::Response response) override {
    record_->Log(AuditStage::kResponseComplete, response.status, &response.body);
    responder_->Send(std::move(response));
  }
  std::shared_ptr<net::Stream> StartStream(int status, net::Headers headers) override {
    record_->Log(AuditStage::kResponseStarted, status, nullptr);
    return std::make_shared<KeptStream>(responder_->StartStream(status, std::move(headers)),
                                        std::make_shared<const EndOfStream>(record_, status));
  }
  std::shared_ptr<net::Duplex> StartUpgrade(const net::Request& request, std::string protocol,
                                            net::Headers headers) override {
    record_->Log(AuditStage::kResponseStarted, kSwitchingProtocols, nullptr);
    return std::make_shared<KeptDuplex>(
        responder_->StartUpgrade(request, std::move(protocol), std::move(headers)),
        std::make_shared<const EndOfStream>(record_, kSwitchingProtocols));
  }

 private:
  const std::shared_ptr<net::Responder> responder_;
  const std::shared_ptr<const Record> record_;
};

Json AuditTrail::RequestObject(const Exchange& exchange) const {
  const net::Request& request = exchange.request;
  if (request.body.empty()) return Json();
  if (request.method == "PATCH") {
    const bool is_yaml =
        request.headers.Find("Content-Type").find("yaml") != std::string_view::npos;
    if (is_yaml) {
      auto document = api::ParseYaml(request.body);
      return document ? std::move(document->value) : Json();
    }
    auto parsed = api::ParseJson(request.body);
    return parsed ? *std::move(parsed) : Json();
  }
  std::string api_version = "v1";
  std::string kind = "DeleteOptions";
  if (request.method != "DELETE") {
    const ResourcePtr resource =
        exchange.api ? registry_.table()->Find(
                           {exchange.api->group, exchange.api->version, exchange.api->resource})
                     : nullptr;
    if (resource == nullptr) return Json();
    api_version = resource->api_version();
    kind = resource->kind;
  }
  auto body = DecodeBody(registry_.types(), request, api_version, kind);
  return body ? std::move(body->object) : Json();
}

void AuditTrail::Begin(Exchange& exchange, const AccessAttributes& access, const UserInfo& user,
                       const UserInfo* acting) {
  const AuditDecision decision = policy_.Decide(user, access);
  if (decision.level == AuditLevel::kNone) return;
  exchange.audit = std::make_shared<AuditNotes>();
  Json event{{"kind", "Event"},
             {"apiVersion", "audit.k8s.io/v1"},
             {"level", NameOfLevel(decision.level)},
             {"auditID", exchange.audit_id},
             {"requestURI", exchange.request.target},
             {"verb", access.verb},
             {"user", UserOf(user)},
             {"sourceIPs", Json::array({HostOf(exchange.request.peer_address)})},
             {"requestReceivedTimestamp", FormatMicroTime(clock_->Now())}};
  if (acting != nullptr) event["impersonatedUser"] = UserOf(*acting);
  const std::string_view agent = exchange.request.headers.Find("User-Agent");
  if (!agent.empty()) event["userAgent"] = agent;
  if (!access.resource.empty()) event["objectRef"] = ReferenceOf(access);
  if (decision.level >= AuditLevel::kRequest) {
    if (Json object = RequestObject(exchange); !object.is_null()) {
      event["requestObject"] = std::move(object);
    }
  }
  auto record =
      std::make_shared<const Record>(log_, clock_, decision, std::move(event), exchange.audit);
  record->Log(AuditStage::kRequestReceived, 0, nullptr);
  exchange.responder =
      std::make_shared<RecordedResponder>(std::move(exchange.responder), std::move(record));
}

}  // namespace berth::local
