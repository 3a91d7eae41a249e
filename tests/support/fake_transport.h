// tests/support/fake_transport.h — a Kubernetes API in memory behind kube::Transport, for tests.
//
// It knows no schema. What it does as the real one does: resourceVersion, generation, uid,
// conflicts, finalizers and deletion, the status subresource, merge patch, JSON is not patched,
// apply with field managers (lists of maps merge by "type" or "name"; forced), watches with
// history, paging (each page shows the present; a token is the name that it goes on behind), label
// selectors of the form "a=b,c".
//
// Faults are ordered: FailNext, DropWatches, CompactHistory, latency.
//
// Threads: one, that of the SimExecutor.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kube/client/transport.h"
#include "tests/support/sim_executor.h"

namespace berth::kube {

class FakeTransport final : public Transport {
 public:
  struct Recorded {
    std::string method;
    std::string path;  // without the query
    std::string query;
    Json body;
  };

  FakeTransport(SimExecutor& executor, FakeClock& clock) : executor_(executor), clock_(clock) {}

  void Send(ApiRequest request, Duration timeout,
            std::function<void(Result<ApiResponse>)> done) override;
  std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                     WatchCallbacks callbacks) override;

  // Direct access, as another client would have: no latency, no faults, not recorded.
  // `collection` is "/apis/batch/v1/namespaces/a/jobs". Put creates or replaces (status included).
  Json Put(const std::string& collection, Json object);
  const Json* Find(const std::string& path) const;  // null where there is none
  void Remove(const std::string& path);             // finalizers do not count

  // The next request whose "METHOD path" contains `what` fails so: a response of `status`, or for
  // status 0 the error `code`. `effect`: whether the write happens all the same.
  enum class Effect { kNone, kDone };
  void FailNext(const std::string& what, int status, Effect effect = Effect::kNone,
                ErrorCode code = ErrorCode::kUnavailable);
  // The next request for the page behind `continue_token`, a name, is answered with 410 and
  // `go_on`, a token with which the list goes on at newer pages.
  void ExpireNextPage(const std::string& continue_token, const std::string& go_on);
  void set_retry_after(Duration delay) { retry_after_ = delay; }
  void DropWatches(const Status& status = OkStatus());
  // Every watch that begins from now on ends so, at once; nullopt: none does.
  void RefuseWatches(std::optional<Error> error) { watch_refusal_ = std::move(error); }
  // Lists, reads and writes below `collection` are answered with 404, as where its CRD is missing.
  void SetMissing(const std::string& collection, bool is_missing);
  void CompactHistory() { history_.clear(), compacted_ = version_; }
  void set_latency(Duration latency) { latency_ = latency; }

  const std::vector<Recorded>& requests() const { return requests_; }
  std::size_t CountWrites() const;  // recorded requests that are not GET
  void ClearRequests() { requests_.clear(); }
  std::size_t watch_count() const { return watches_.size(); }
  std::size_t watches_begun() const { return watches_begun_; }

 private:
  struct Failure {
    std::string what;
    int status;
    Effect effect;
    ErrorCode code;
    std::string go_on;
  };
  struct Stored {
    Json object;
    std::map<std::string, Json> applied;  // by field manager
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
  ApiResponse Create(const std::string& collection, Json object);
  ApiResponse Write(const std::string& path, const std::string& subresource,
                    const ApiRequest& request, const std::string& manager);
  ApiResponse Delete(const std::string& path, const Json* options);
  ApiResponse Store(const std::string& path, const std::string& subresource, Stored& stored,
                    Json updated);
  void Record(const std::string& path, WatchEvent::Type type, const Json& object);
  void Pump(const std::shared_ptr<OpenWatch>& watch);

  SimExecutor& executor_;
  FakeClock& clock_;
  Duration latency_ = std::chrono::milliseconds(1);
  std::optional<Duration> retry_after_;
  std::int64_t version_ = 0;
  std::int64_t compacted_ = 0;
  std::int64_t next_uid_ = 0;
  std::map<std::string, Stored> objects_;  // by path
  std::deque<Change> history_;
  std::vector<Failure> failures_;
  std::vector<Recorded> requests_;
  std::vector<std::weak_ptr<OpenWatch>> watches_;
  std::size_t watches_begun_ = 0;
  std::optional<Error> watch_refusal_;
  std::set<std::string> missing_;  // collections
};

}  // namespace berth::kube
