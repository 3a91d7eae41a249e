// tests/kube/scripted_transport.h — lists and watches that a test scripts, behind kube::Transport:
// objects that an API server with schemas never stores, pages that expire, versions that count from
// 1.
//
// For tests of readers: each page shows the present state, a continue token is the name behind
// which the list continues, watches have a history. A write is recorded, answered with its body,
// and changes nothing; tests of writers use tests/support/registry_transport.h.
//
// Threads: one, that of the SimExecutor.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kube/client/transport.h"
#include "scenarios/world/sim_executor.h"

namespace berth::kube {

class ScriptedTransport final : public Transport {
 public:
  struct Recorded {
    std::string method;
    std::string path;  // without the query
    std::string query;
    Json body;
  };

  ScriptedTransport(SimExecutor& executor, FakeClock& clock) : executor_(executor), clock_(clock) {}

  void Send(ApiRequest request, Duration timeout,
            std::function<void(Result<ApiResponse>)> done) override;
  std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                     WatchCallbacks callbacks) override;

  // The listed and watched objects; not recorded. `collection` is
  // "/apis/batch/v1/namespaces/a/jobs".
  void Put(const std::string& collection, Json object);  // creates or replaces
  const Json* Find(const std::string& path) const;       // null where there is none
  void Remove(const std::string& path);

  // Fails the next request whose "METHOD path" contains `what`: with a response of `status`, or for
  // status 0 with the error `code`.
  void FailNext(const std::string& what, int status, ErrorCode code = ErrorCode::kUnavailable);
  // The next request for the page behind `continue_token`, a name, is answered with 410 and
  // `go_on`, a token with which the list goes on at newer pages.
  void ExpireNextPage(const std::string& continue_token, const std::string& go_on);
  void DropWatches(const Status& status = OkStatus());
  // Ends every later watch at once with the error; nullopt: none.
  void RefuseWatches(std::optional<Error> error) { watch_refusal_ = std::move(error); }
  void set_latency(Duration latency) { latency_ = latency; }
  void CompactHistory() { history_.clear(), compacted_ = version_; }

  const std::vector<Recorded>& requests() const { return requests_; }
  void ClearRequests() { requests_.clear(); }
  std::size_t watches_begun() const { return watches_begun_; }

 private:
  struct Failure {
    std::string what;
    int status;
    ErrorCode code;
    std::string go_on;
  };
  struct Change {
    std::int64_t version;
    std::string path;
    WatchEvent::Type type;
    JsonPtr object;
  };
  struct OpenWatch;
  class Handle;

  ApiResponse Respond(const ApiRequest& request);
  ApiResponse List(const std::string& path, const std::string& query) const;
  void Record(const std::string& path, WatchEvent::Type type, const Json& object);
  void Pump(const std::shared_ptr<OpenWatch>& watch);

  SimExecutor& executor_;
  FakeClock& clock_;
  Duration latency_ = std::chrono::milliseconds(1);
  std::int64_t version_ = 0;
  std::int64_t compacted_ = 0;
  std::int64_t next_uid_ = 0;
  std::map<std::string, Json> objects_;  // by path
  std::deque<Change> history_;
  std::vector<Failure> failures_;
  std::vector<Recorded> requests_;
  std::vector<std::weak_ptr<OpenWatch>> watches_;
  std::size_t watches_begun_ = 0;
  std::optional<Error> watch_refusal_;
};

}  // namespace berth::kube
