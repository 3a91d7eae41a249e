#include "local/apiserver/http/exchange.h"

#include <set>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxWarningBytes = 4096;

std::string WarningValue(const std::string& text) {
  std::string value = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') value.push_back('\\');
    value.push_back(c == '\n' || c == '\r' ? ' ' : c);
  }
  value.push_back('"');
  return value;
}

}  // namespace

bool Exchange::WantsIndent() const {
  if (target.Has("pretty")) return target.IsTrue("pretty");
  const std::string_view agent = request.headers.Find("User-Agent");
  for (const std::string_view person : {"curl", "Wget", "Mozilla/5.0"}) {
    if (agent.substr(0, person.size()) == person) return true;
  }
  return false;
}

net::Headers Exchange::CommonHeaders(const std::string& content_type,
                                     const std::vector<std::string>& warnings) const {
  net::Headers headers{{"Audit-Id", audit_id},
                       {"Cache-Control", "no-cache, private"},
                       {"Content-Type", content_type}};
  std::set<std::string> seen;
  std::size_t bytes = 0;
  for (const std::string& warning : warnings) {
    if (!seen.insert(warning).second) continue;
    bytes += warning.size();
    if (bytes > kMaxWarningBytes) break;
    headers.Add("Warning", WarningValue(warning));
  }
  return headers;
}

void Exchange::SendText(int status, std::string content_type, std::string body,
                        const std::vector<std::string>& warnings) const {
  responder->Send({status, CommonHeaders(content_type, warnings), std::move(body)});
}

net::Response Exchange::JsonAnswer(int status, std::string json,
                                   const std::vector<std::string>& warnings) const {
  if (WantsIndent()) {
    // allow json-parse: this server wrote the text, and the order of members must be kept
    const nlohmann::ordered_json parsed = nlohmann::ordered_json::parse(json, nullptr, false);
    if (!parsed.is_discarded()) {
      json = api::FormatOrderedJson(parsed, 2);
    }
  }
  json.push_back('\n');
  return {status, CommonHeaders("application/json", warnings), std::move(json)};
}

void Exchange::SendError(const ApiError& error, const std::vector<std::string>& warnings) const {
  std::string json = EncodeObject(StatusOf(error));
  json.push_back('\n');
  net::Headers headers = CommonHeaders("application/json", warnings);
  if (error.details.is_object() && error.details.contains("retryAfterSeconds")) {
    headers.Add("Retry-After", api::FormatJson(error.details["retryAfterSeconds"]));
  }
  responder->Send({error.code, std::move(headers), std::move(json)});
}

std::shared_ptr<net::Stream> Exchange::StartStream(const std::string& content_type,
                                                   const std::vector<std::string>& warnings) const {
  return responder->StartStream(200, CommonHeaders(content_type, warnings));
}

}  // namespace berth::local
