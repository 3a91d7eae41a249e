#include "local/cluster/objects/object_events.h"

#include <atomic>
#include <memory>
#include <utility>

#include "base/log/log.h"
#include "base/seed.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {
namespace {

// A large budget: the API is in this process, and a Job may have many pods to report.
constexpr double kBudget = 1000;
constexpr int kMostWaiting = 10'000;
constexpr std::size_t kMostInFlight = 64;

class ApiSink final : public kube::EventSink {
 public:
  ApiSink(Api& api, Executor& executor, Executor& writes)
      : api_(api), executor_(executor), writes_(writes) {}

  void Create(const berth::api::ResourceKind& /*kind*/, const std::string& namespace_name,
              Json event, const std::string& field_manager, Done done) override {
    Write(field_manager, std::move(done),
          [&api = api_, namespace_name, event = std::move(event)](const WriteOptions& options) {
            return api.Create(kEvents, namespace_name, event, options);
          });
  }
  void Patch(const berth::api::ResourceKind& /*kind*/, const ObjectKey& event, Json patch,
             const std::string& field_manager, Done done) override {
    Write(field_manager, std::move(done),
          [&api = api_, event, patch = std::move(patch)](const WriteOptions& options) {
            return api.Patch(kEvents, event.namespace_name, event.name, PatchType::kMerge, patch,
                             options);
          });
  }

 private:
  // Completes as soon as the write is queued, without waking the recorder's thread later.
  template <typename Fn>
  void Write(const std::string& field_manager, Done done, Fn write) {
    if (*waiting_count_ >= kMostWaiting) {
      return executor_.Post([done = std::move(done)] {
        done(Error{ErrorCode::kTooManyRequests, "too many events wait to be written"});
      });
    }
    ++*waiting_count_;
    WriteOptions options;
    options.field_manager = field_manager;
    options.wait = WriteWait::kSubmitted;
    writes_.Post([options, write = std::move(write), count = waiting_count_] {
      --*count;
      const auto written = write(options);
      if (!written) LogDebug("event not written", {{"error", written.error().message}});
    });
    executor_.Post([done = std::move(done)] { done(OkStatus()); });
  }

  Api& api_;
  Executor& executor_;
  Executor& writes_;
  const std::shared_ptr<std::atomic<int>> waiting_count_ = std::make_shared<std::atomic<int>>(0);
};

kube::EventRecorder::Options OptionsOf(const std::string& component, WallTime now) {
  kube::EventRecorder::Options options;
  options.controller = component;
  options.max_queued = kMostWaiting;
  options.max_in_flight = kMostInFlight;
  options.budget = kBudget;
  options.first_api = kube::EventApi::kCore;
  // Components start at the same time, also after a restart: their event names must differ.
  options.seed = SeedFrom(component + std::to_string(now.time_since_epoch().count()));
  return options;
}

}  // namespace

ObjectEvents::ObjectEvents(Api& api, const Clock& clock, Executor& executor, Executor& writes,
                           const std::string& component)
    : recorder_(std::make_unique<ApiSink>(api, executor, writes), clock,
                OptionsOf(component, clock.Now())) {}

void ObjectEvents::Record(const Json& object, EventType type, const std::string& reason,
                          const std::string& message) {
  recorder_.Record({StringAt(object, {"apiVersion"}), StringAt(object, {"kind"}), KeyOf(object),
                    UidOf(object), StringAt(object, {"metadata", "resourceVersion"})},
                   type, reason, "", message);
}

}  // namespace berth::local::cluster
