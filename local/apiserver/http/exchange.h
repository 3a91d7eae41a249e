// local/apiserver/http/exchange.h — one HTTP request, and functions that answer it.
//
// Threads: none; one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/http/negotiation.h"
#include "local/apiserver/http/target.h"
#include "local/apiserver/registry/request.h"
#include "net/server.h"

namespace berth::local {

// Facts for the audit log that are neither in the request nor in its answer.
struct AuditNotes : AuditAnnotations {
  std::string name;  // the object's name, if the path does not have it
};

struct Exchange : std::enable_shared_from_this<Exchange> {
  net::Request request;
  std::shared_ptr<net::Responder> responder;
  Target target;
  std::optional<ApiPath> api;  // the parts of target.path; nullopt: the path names no resource
  UserInfo user;
  std::string audit_id;
  std::shared_ptr<AuditNotes> audit;  // null: the request is not audited

  void SendText(int status, std::string content_type, std::string body,
                const std::vector<std::string>& warnings = {}) const;
  // `json` is compact JSON; clients that are people (curl, browsers) get it indented.
  void SendJson(int status, std::string json, const std::vector<std::string>& warnings = {}) const {
    responder->Send(JsonAnswer(status, std::move(json), warnings));
  }
  // The response that SendJson sends.
  net::Response JsonAnswer(int status, std::string json,
                           const std::vector<std::string>& warnings = {}) const;
  void SendError(const ApiError& error, const std::vector<std::string>& warnings = {}) const;
  std::shared_ptr<net::Stream> StartStream(const std::string& content_type,
                                           const std::vector<std::string>& warnings = {}) const;

 private:
  net::Headers CommonHeaders(const std::string& content_type,
                             const std::vector<std::string>& warnings) const;
  bool WantsIndent() const;
};

}  // namespace berth::local
