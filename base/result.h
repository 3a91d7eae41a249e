// base/result.h — Result<T>: a value or an Error. The interface is std::expected's.
//
// Errors are for operations that failed. "The workload has to wait" is an answer: data in a
// variant, no error. A library's exception ends in the file that calls the library.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace berth {

// The caller's reaction to a failure. Add an enumerator only for a reaction that some caller has;
// information for people alone belongs in Error::message.
enum class ErrorCode : std::uint8_t {
  kInvalid,           // 400, 422: never acceptable as written; do not retry
  kForbidden,         // 401, 403: do not retry
  kNotFound,          // 404
  kAlreadyExists,     // 409: on create
  kConflict,          // 409: resourceVersion is stale; read again, then retry
  kExpired,           // 410: watch position compacted away; relist
  kTooManyRequests,   // 429: retry after the server's delay
  kUnavailable,       // 503: transport or server down; retry with backoff
  kDeadlineExceeded,  // 504: outcome unknown; read before retrying a write
  kInternal,          // 500: a bug on the other side
};

constexpr std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "Invalid";
    case ErrorCode::kForbidden: return "Forbidden";
    case ErrorCode::kNotFound: return "NotFound";
    case ErrorCode::kAlreadyExists: return "AlreadyExists";
    case ErrorCode::kConflict: return "Conflict";
    case ErrorCode::kExpired: return "Expired";
    case ErrorCode::kTooManyRequests: return "TooManyRequests";
    case ErrorCode::kUnavailable: return "Unavailable";
    case ErrorCode::kDeadlineExceeded: return "DeadlineExceeded";
    case ErrorCode::kInternal: return "Internal";
  }
  return "Unknown";
}

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // lower case, no final period: callers prefix it
  friend bool operator==(const Error&, const Error&) = default;
};

template <typename T>
class [[nodiscard]] Result {  // reading the side that is not there aborts
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: converts
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: converts

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  const T& operator*() const& { return Side<0>(state_); }
  T& operator*() & { return Side<0>(state_); }
  T&& operator*() && { return std::move(Side<0>(state_)); }
  const T* operator->() const { return &Side<0>(state_); }
  T* operator->() { return &Side<0>(state_); }
  const Error& error() const { return Side<1>(state_); }

 private:
  template <std::size_t kIndex, typename State>
  static auto& Side(State& state) {
    auto* side = std::get_if<kIndex>(&state);
    if (side == nullptr) std::abort();
    return *side;
  }
  std::variant<T, Error> state_;
};

struct Unit {
  friend bool operator==(const Unit&, const Unit&) = default;
};
using Status = Result<Unit>;
inline Status OkStatus() { return Unit{}; }

// `error` with `context` in front: "reading kubeconfig: no such file".
inline Error Annotate(const Error& error, std::string_view context) {
  return Error{error.code, std::string(context) + ": " + error.message};
}

}  // namespace berth

// BERTH_TRY(auto snapshot, cache.TakeSnapshot());  -- returns the error to our caller, or goes on.
#define BERTH_CONCAT_INNER(a, b) a##b
#define BERTH_CONCAT(a, b) BERTH_CONCAT_INNER(a, b)
#define BERTH_TRY_IMPL(result, declaration, expression) \
  auto result = (expression);                           \
  if (!result) return result.error();                   \
  declaration = *std::move(result)
#define BERTH_TRY(declaration, expression) \
  BERTH_TRY_IMPL(BERTH_CONCAT(berth_try_, __LINE__), declaration, expression)
// BERTH_CHECK_OK(file.Sync());  -- the same for a Status.
#define BERTH_CHECK_OK(expression)                               \
  if (auto BERTH_CONCAT(berth_status_, __LINE__) = (expression); \
      !BERTH_CONCAT(berth_status_, __LINE__))                    \
  return BERTH_CONCAT(berth_status_, __LINE__).error()
