#include "provisioning/controller/spend_keeper.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/node_meters.h"
#include "api/codec/spend_memory.h"
#include "api/labels.h"
#include "base/log/log.h"
#include "base/sha1.h"
#include "provisioning/controller/memory_map.h"

namespace berth::provisioning {
namespace {

using kube::Json;

constexpr char kSpendKey[] = "spend";
constexpr char kMetersKey[] = "meters";
constexpr std::size_t kNameDigits = 16;

}  // namespace

std::string SpendConfigMapName(const std::string& queue) {
  return "berth-spend-" + Sha1Hex(queue).substr(0, kNameDigits);
}

SpendKeeper::SpendKeeper(kube::ApiClient& client, std::string namespace_name)
    : client_(client),
      namespace_name_(std::move(namespace_name)),
      self_(std::make_shared<SpendKeeper*>(this)) {}

bool SpendKeeper::IsSettled(const std::string& queue) const {
  const auto found = kept_.find(queue);
  return found != kept_.end() && found->second.loaded && !found->second.dirty &&
         !found->second.writing;
}

void SpendKeeper::Settle(const std::string& queue, Done done) {
  if (!kept_[queue].loaded) return Load(queue, std::move(done));
  if (kept_[queue].writing) return kept_[queue].waiting.push_back(std::move(done));
  if (kept_[queue].dirty || kept_[queue].metered) return Write(queue, std::move(done));
  done(OkStatus());
}

bool SpendKeeper::IsLoaded(const std::string& queue) const {
  const auto found = kept_.find(queue);
  return found != kept_.end() && found->second.loaded;
}

void SpendKeeper::NoteMeters(const std::string& queue) {
  Kept& kept = kept_[queue];
  kept.metered = !kept.forbidden;
}

void SpendKeeper::Record(const Charge& charge) {
  if (memory_.Knows(charge)) return;
  memory_.Record(charge);
  Kept& kept = kept_[charge.queue];
  kept.dirty = !kept.forbidden;
}

Status SpendKeeper::Forbidden(Kept& kept, const std::string& queue, const Error& error) {
  kept.forbidden = true;
  kept.dirty = false;
  kept.metered = false;
  LogWarning("the record of spending is not saved", {{"queue", queue}, {"error", error.message}});
  return OkStatus();
}

void SpendKeeper::Load(const std::string& queue, Done done) {
  client_.Get(
      kMemoryMap, {namespace_name_, SpendConfigMapName(queue)},
      [weak = std::weak_ptr(self_), queue,
       done = std::move(done)](const Result<kube::JsonPtr>& answer) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        Kept& kept = (*self)->kept_[queue];
        if (answer) {
          (*self)->Take(queue, **answer);
        } else if (answer.error().code == ErrorCode::kForbidden) {
          (void)(*self)->Forbidden(kept, queue, answer.error());
        } else if (answer.error().code != ErrorCode::kNotFound) {
          return done(Annotate(answer.error(), "reading the record of spending of " + queue));
        }
        kept.loaded = true;
        done(OkStatus());
      });
}

void SpendKeeper::Take(const std::string& queue, const Json& object) {
  if (const auto meta = api::Decode<api::ObjectMeta>(object)) {
    kept_[queue].resource_version = meta->resource_version;
  }
  TakeMeters(queue, object);
  const std::string text = MemoryTextOf(object, kSpendKey);
  if (text.empty()) return;
  const auto spend = api::DecodeSpend(text);
  if (!spend) {  // written by hand, or cut: begin anew, and write over it
    LogWarning("the record of spending cannot be read; counting starts from zero",
               {{"queue", queue}, {"error", spend.error().message}});
    return;
  }
  memory_.Merge(queue, *spend);
}

void SpendKeeper::TakeMeters(const std::string& queue, const Json& object) {
  const std::string text = MemoryTextOf(object, kMetersKey);
  if (text.empty()) return;
  const auto meters = api::DecodeMeters(text);
  if (meters) return memory_.meters().Merge(queue, *meters);
  LogWarning("the meters of nodes cannot be read; measuring starts from zero",
             {{"queue", queue}, {"error", meters.error().message}});
}

void SpendKeeper::Write(const std::string& queue, Done done) {
  Kept& kept = kept_[queue];
  kept.dirty = false;
  kept.metered = false;
  kept.writing = true;
  kept.waiting = {std::move(done)};
  const api::ObjectKey key{namespace_name_, SpendConfigMapName(queue)};
  Json data = {{kSpendKey, api::EncodeSpend(memory_.Of(queue))}};
  const api::QueueMeters& meters = memory_.meters().Of(queue);
  if (meters != api::QueueMeters{}) data[kMetersKey] = api::EncodeMeters(meters);
  Json object = {{"data", std::move(data)},
                 {"metadata",
                  {{"labels", {{api::kSpendLabel, "true"}}},
                   {"annotations", {{api::kSpendOfAnnotation, queue}}}}}};
  const auto written = [weak = std::weak_ptr(self_), queue](const Result<kube::JsonPtr>& answer) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const Status status = (*self)->Written(queue, answer);
    const std::vector<Done> waiting = std::exchange((*self)->kept_[queue].waiting, {});
    for (const Done& each : waiting) each(status);
  };
  WriteMemoryMap(client_, key, kept.resource_version, std::move(object), written);
}

Status SpendKeeper::Written(const std::string& queue, const Result<kube::JsonPtr>& answer) {
  Kept& kept = kept_[queue];
  kept.writing = false;
  if (answer) {
    const auto meta = api::Decode<api::ObjectMeta>(**answer);
    if (meta) kept.resource_version = meta->resource_version;
    return OkStatus();
  }
  const ErrorCode code = answer.error().code;
  if (code == ErrorCode::kForbidden) return Forbidden(kept, queue, answer.error());
  kept.dirty = true;
  // The next attempt reads what is there, joins both, and writes.
  if (code == ErrorCode::kConflict || code == ErrorCode::kAlreadyExists) kept.loaded = false;
  if (code == ErrorCode::kNotFound) kept.resource_version.clear();
  return Annotate(answer.error(), "writing the record of spending of " + queue);
}

}  // namespace berth::provisioning
