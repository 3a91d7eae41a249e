// kube/client/transport.h — sends requests to a Kubernetes API: over HTTPS in production, by
// function calls in simulation and tests.
//
// Threads: every function is called on one Executor; all callbacks run on it, never inside the call
// that started the request.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "base/result.h"

namespace berth::api {
class JsonSource;
struct ObjectMeta;
}  // namespace berth::api

namespace berth::kube {

using Json = nlohmann::json;
using JsonPtr = std::shared_ptr<const Json>;  // immutable once shared

// What an ObjectReader made of one object of an answer. If it failed, `object` is null and `error`
// has the reason; `identity` then has the object's name, namespace, uid and resourceVersion, or is
// null if these are unknown.
struct ReadObject {
  std::shared_ptr<const void> object;
  std::string error;
  std::shared_ptr<const api::ObjectMeta> identity = nullptr;
};

// Converts the objects of a list, a watch or the answer to a write to the caller's form as they
// arrive, without a JSON tree. Called on threads of the transport, several at a time.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  virtual ReadObject Read(const api::JsonSource& object) const = 0;
};

struct ReadPage {
  std::vector<ReadObject> items;
  std::string resource_version;
  std::string continue_token;
};

struct ApiRequest {
  std::string method;        // "GET", upper case
  std::string path;          // path and query, escaped: "/api/v1/namespaces/a/pods?limit=5"
  std::string content_type;  // the type of the body; empty: no body
  JsonPtr body;
  // Reads the items of a list (a GET), the objects of a watch's events, or the object that answers
  // a write. A transport may ignore the reader and answer with JSON trees.
  std::shared_ptr<const ObjectReader> reader = nullptr;
  // The value of the header Accept. A transport may ignore it and answer with the object or list
  // itself.
  std::string accept = "application/json";
};

struct ApiResponse {
  int status = 200;
  std::optional<ReadPage> page = {};    // in place of the body, if a list has a reader
  std::optional<ReadObject> read = {};  // in place of the body, if a write has a reader
  JsonPtr body;                         // null: the answer is not JSON
  std::string text;                     // the answer, if it is not JSON
  std::optional<Duration> retry_after;
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kAdded;
  JsonPtr object;
  // Replaces `object` if the request has a reader. A bookmark has the version alone.
  ReadObject read = {};
  std::string resource_version = {};
};

struct WatchCallbacks {
  std::function<void(WatchEvent)> on_event;
  // The last callback, called once. OK: the server ended the watch regularly; continue from the
  // last resourceVersion. kExpired: list again. Other errors: retry with backoff.
  std::function<void(Status)> on_end;
};

// Keeps a watch open; destruction ends the watch and its callbacks.
class WatchHandle {
 public:
  virtual ~WatchHandle() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // `timeout` covers the time until the whole answer has arrived. An HTTP error status is a
  // response. Errors: kUnavailable (no answer; a write may or may not have happened),
  // kDeadlineExceeded (likewise), kInvalid (answer over the size limit).
  virtual void Send(ApiRequest request, Duration timeout,
                    std::function<void(Result<ApiResponse>)> done) = 0;

  // `silence`: the longest time without a byte before the watch ends with kDeadlineExceeded.
  virtual std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                             WatchCallbacks callbacks) = 0;
};

}  // namespace berth::kube
