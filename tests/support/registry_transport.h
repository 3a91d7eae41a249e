// tests/support/registry_transport.h — the real API server in memory
// (scenarios/world/embedded_api.h) behind kube::Transport in virtual time, with faults on a test's
// command and a record of the requests.
//
// Objects must be valid: schemas, defaults, validation, managedFields are real. No webhook is
// registered, and no other component runs: no garbage collector, no Job controller.
//
// Faults: FailNext, DropWatches, MuteWatches, CompactHistory, latency.
//
// Threads: one, that of the SimExecutor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kube/client/transport.h"
#include "scenarios/world/sim_executor.h"

namespace berth {
class EmbeddedApi;
}  // namespace berth
namespace berth::sim {
class SimTransport;
}  // namespace berth::sim

namespace berth::kube {

class RegistryTransport final : public Transport {
 public:
  struct Recorded {
    std::string method;
    std::string path;  // without the query
    std::string query;
    Json body;
  };

  RegistryTransport(SimExecutor& executor, FakeClock& clock);
  ~RegistryTransport() override;

  void Send(ApiRequest request, Duration timeout,
            std::function<void(Result<ApiResponse>)> done) override;
  std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                     WatchCallbacks callbacks) override;

  // Direct access, as by another client: no latency, no faults, not recorded; a refusal fails the
  // test. `collection` is "/apis/batch/v1/namespaces/a/jobs".
  //
  // Creates or replaces, status included, and returns the stored state. apiVersion and kind are
  // optional, and a missing namespace is created.
  Json Put(const std::string& collection, Json object);
  // The present state, valid until the next call for the path; null: no such object.
  const Json* Find(const std::string& path) const;
  void Remove(const std::string& path);  // regardless of finalizers and grace periods

  // Fails the next request whose "METHOD path" contains `what`: with a response of `status`, or for
  // status 0 with the error `code`. `effect`: whether the write happens all the same.
  enum class Effect { kNone, kDone };
  void FailNext(const std::string& what, int status, Effect effect = Effect::kNone,
                ErrorCode code = ErrorCode::kUnavailable);
  void set_retry_after(Duration delay) { retry_after_ = delay; }
  void DropWatches(const Status& status = OkStatus());
  // Ends every later watch at once with the error; nullopt: none.
  void RefuseWatches(std::optional<Error> error) { watch_refusal_ = std::move(error); }
  // Loses every later event of the watches on `collection`, which stay open.
  void MuteWatches(const std::string& collection) { muted_.insert(collection); }
  // Answers requests below `collection` with 404, as if its CRD were missing.
  void SetMissing(const std::string& collection, bool is_missing);
  // Expires all versions before the present one for new watches.
  void CompactHistory();
  void set_latency(Duration latency);

  const std::vector<Recorded>& requests() const { return requests_; }
  std::size_t CountWrites() const;  // recorded requests that are not GET
  void ClearRequests() { requests_.clear(); }
  std::size_t watch_count() const;
  std::size_t watches_begun() const { return watches_begun_; }

 private:
  struct Failure {
    std::string what;
    int status;
    Effect effect;
    ErrorCode code;
  };
  class EndedWatch;

  ApiResponse Answer(const std::string& method, const std::string& path, JsonPtr body = nullptr,
                     const std::string& content_type = "application/json") const;
  // Fails the test if the answer is a refusal.
  Json Demand(const std::string& method, const std::string& path, Json body,
              const std::string& content_type = "application/json");
  ApiResponse Respond(const ApiRequest& request);
  void EnsureNamespace(const std::string& name);
  std::unique_ptr<WatchHandle> EndAtOnce(const Error& error, WatchCallbacks callbacks);

  SimExecutor& executor_;
  std::unique_ptr<EmbeddedApi> embedded_;
  std::unique_ptr<sim::SimTransport> inner_;
  Duration latency_ = std::chrono::milliseconds(1);
  std::optional<Duration> retry_after_;
  std::int64_t compacted_ = 0;
  std::vector<Failure> failures_;
  std::vector<Recorded> requests_;
  mutable std::map<std::string, JsonPtr> found_;  // objects returned by Find
  std::size_t watches_begun_ = 0;
  std::optional<Error> watch_refusal_;
  std::set<std::string> missing_;  // collections
  std::set<std::string> muted_;    // collections
};

}  // namespace berth::kube
