#include "kube/client/status_error.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace berth::kube {
namespace {

constexpr std::array<std::pair<std::string_view, ErrorCode>, 17> kReasons{{
    {"AlreadyExists", ErrorCode::kAlreadyExists},
    {"BadRequest", ErrorCode::kInvalid},
    {"Conflict", ErrorCode::kConflict},
    {"Expired", ErrorCode::kExpired},
    {"Forbidden", ErrorCode::kForbidden},
    {"Gone", ErrorCode::kExpired},
    {"InternalError", ErrorCode::kInternal},
    {"Invalid", ErrorCode::kInvalid},
    {"MethodNotAllowed", ErrorCode::kInvalid},
    {"NotAcceptable", ErrorCode::kInvalid},
    {"NotFound", ErrorCode::kNotFound},
    {"RequestEntityTooLarge", ErrorCode::kInvalid},
    {"ServerTimeout", ErrorCode::kUnavailable},
    {"ServiceUnavailable", ErrorCode::kUnavailable},
    {"Timeout", ErrorCode::kDeadlineExceeded},
    {"TooManyRequests", ErrorCode::kTooManyRequests},
    {"Unauthorized", ErrorCode::kForbidden},
}};

ErrorCode CodeFromHttp(int status) {
  switch (status) {
    case 401:
    case 403: return ErrorCode::kForbidden;
    case 404: return ErrorCode::kNotFound;
    case 409: return ErrorCode::kConflict;
    case 410: return ErrorCode::kExpired;
    case 429: return ErrorCode::kTooManyRequests;
    case 502:
    case 503: return ErrorCode::kUnavailable;
    case 504: return ErrorCode::kDeadlineExceeded;
    default: return status >= 500 ? ErrorCode::kInternal : ErrorCode::kInvalid;
  }
}

std::string StringField(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// A PATCH that names another uid: the object was deleted, and another one has its name. A PUT gets
// a Conflict for the same.
bool IsOfAnotherObject(const nlohmann::json& status) {
  const nlohmann::json::json_pointer causes("/details/causes");
  if (!status.contains(causes) || !status.at(causes).is_array()) return false;
  const nlohmann::json& all = status.at(causes);
  return all.size() == 1 && all[0].is_object() && StringField(all[0], "field") == "metadata.uid";
}

// An apply with a field that the kind's schema lacks. The answer is 500 without a reason, although
// the same write fails for ever.
bool IsOutsideTheSchema(int http_status, const std::string& message) {
  return http_status == 500 && message.starts_with("failed to create typed patch object");
}

}  // namespace

Error ErrorFromStatus(int http_status, const nlohmann::json* body) {
  Error error{CodeFromHttp(http_status), "the API server answered " + std::to_string(http_status)};
  if (body == nullptr || !body->is_object()) return error;
  const std::string reason = StringField(*body, "reason");
  for (const auto& [word, code] : kReasons) {
    if (word == reason) error.code = code;
  }
  if (std::string message = StringField(*body, "message"); !message.empty()) {
    error.message = std::move(message);
  }
  if (error.code == ErrorCode::kInvalid && IsOfAnotherObject(*body)) {
    error.code = ErrorCode::kConflict;
  }
  if (IsOutsideTheSchema(http_status, error.message)) error.code = ErrorCode::kInvalid;
  return error;
}

}  // namespace berth::kube
