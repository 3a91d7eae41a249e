#include "provisioning/controller/stock_keeper.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/stock_memory.h"
#include "api/labels.h"
#include "base/log/log.h"
#include "base/sha1.h"
#include "provisioning/controller/memory_map.h"

namespace berth::provisioning {
namespace {

using kube::Json;

constexpr char kDataKey[] = "stock";
constexpr std::size_t kMaxName = 253;

}  // namespace

std::string StockConfigMapName(const std::string& provisioning_class) {
  std::string name = "berth-stock-" + provisioning_class;
  if (name.size() <= kMaxName) return name;
  const std::string hash = Sha1Hex(provisioning_class).substr(0, 8);
  return "berth-stock-" + hash;
}

StockKeeper::StockKeeper(kube::ApiClient& client, StockKeeperOptions options)
    : client_(client), options_(std::move(options)), self_(std::make_shared<StockKeeper*>(this)) {}

bool StockKeeper::IsLoaded(const std::vector<std::string>& classes) const {
  return std::all_of(classes.begin(), classes.end(), [this](const std::string& each) {
    const auto found = kept_.find(each);
    return found != kept_.end() && found->second.loaded;
  });
}

void StockKeeper::Load(const std::vector<std::string>& classes, std::function<void(Status)> done) {
  const auto missing = std::find_if(classes.begin(), classes.end(),
                                    [this](const auto& each) { return !kept_[each].loaded; });
  if (missing == classes.end()) return done(OkStatus());
  client_.Get(kMemoryMap, {options_.namespace_name, StockConfigMapName(*missing)},
              [weak = std::weak_ptr(self_), name = *missing, classes,
               done = std::move(done)](const Result<kube::JsonPtr>& answer) {
                const auto self = weak.lock();
                if (self == nullptr) return;
                Kept& kept = (*self)->kept_[name];
                if (kept.loaded) return (*self)->Load(classes, done);  // read twice at once
                if (answer) {
                  (*self)->Take(name, **answer);
                } else if (answer.error().code == ErrorCode::kForbidden) {
                  LogWarning("the stock memory is not saved",
                             {{"class", name}, {"error", answer.error().message}});
                } else if (answer.error().code != ErrorCode::kNotFound) {
                  return done(Annotate(answer.error(), "reading the stock memory of " + name));
                }
                kept.loaded = true;
                (*self)->Load(classes, done);
              });
}

void StockKeeper::Take(const std::string& provisioning_class, const Json& object) {
  const auto meta = api::Decode<api::ObjectMeta>(object);
  if (meta) kept_[provisioning_class].resource_version = meta->resource_version;
  const std::string text = MemoryTextOf(object, kDataKey);
  if (text.empty()) return;
  const auto stock = api::DecodeStock(text);
  if (!stock) {  // written by hand, or cut: begin anew, and write over it
    LogWarning("the stock memory cannot be read and starts empty",
               {{"class", provisioning_class}, {"error", stock.error().message}});
    return;
  }
  memory_.Merge(provisioning_class, *stock);
  if (options_.changed) options_.changed(provisioning_class, memory_.Of(provisioning_class));
}

void StockKeeper::Record(const StockLesson& lesson) {
  memory_.Record(lesson);
  if (options_.changed) {
    options_.changed(lesson.provisioning_class, memory_.Of(lesson.provisioning_class));
  }
  kept_[lesson.provisioning_class].dirty = true;
  WriteAfter(lesson.provisioning_class, options_.write_delay);
}

void StockKeeper::WriteAfter(const std::string& provisioning_class, Duration delay) {
  if (std::exchange(kept_[provisioning_class].writing, true)) return;
  client_.executor().PostAfter(delay, [weak = std::weak_ptr(self_), provisioning_class] {
    if (const auto self = weak.lock()) (*self)->Write(provisioning_class);
  });
}

void StockKeeper::Write(const std::string& provisioning_class) {
  Kept& kept = kept_[provisioning_class];
  kept.dirty = false;
  const api::ObjectKey key{options_.namespace_name, StockConfigMapName(provisioning_class)};
  Json object = {{"data", {{kDataKey, api::EncodeStock(memory_.Of(provisioning_class))}}},
                 {"metadata",
                  {{"labels", {{api::kStockLabel, "true"}}},
                   {"annotations", {{api::kProvisioningClassAnnotation, provisioning_class}}}}}};
  const auto written = [weak = std::weak_ptr(self_),
                        provisioning_class](const Result<kube::JsonPtr>& answer) {
    if (const auto self = weak.lock()) (*self)->Written(provisioning_class, answer);
  };
  WriteMemoryMap(client_, key, kept.resource_version, std::move(object), written);
}

void StockKeeper::Written(const std::string& provisioning_class,
                          const Result<kube::JsonPtr>& answer) {
  Kept& kept = kept_[provisioning_class];
  kept.writing = false;
  if (answer) {
    if (const auto meta = api::Decode<api::ObjectMeta>(**answer)) {
      kept.resource_version = meta->resource_version;
    }
    if (kept.dirty) WriteAfter(provisioning_class, options_.write_delay);
    return;
  }
  kept.dirty = true;
  const ErrorCode code = answer.error().code;
  if (code == ErrorCode::kConflict || code == ErrorCode::kAlreadyExists) {
    return ReadAgain(provisioning_class);
  }
  if (code == ErrorCode::kNotFound) kept.resource_version.clear();  // deleted: made again
  LogWarning("the stock memory could not be written",
             {{"class", provisioning_class}, {"error", answer.error().message}});
  WriteAfter(provisioning_class, options_.retry_delay);
}

void StockKeeper::ReadAgain(const std::string& provisioning_class) {
  client_.Get(
      kMemoryMap, {options_.namespace_name, StockConfigMapName(provisioning_class)},
      [weak = std::weak_ptr(self_), provisioning_class](const Result<kube::JsonPtr>& answer) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        if (answer) (*self)->Take(provisioning_class, **answer);
        const bool gone = !answer && answer.error().code == ErrorCode::kNotFound;
        if (gone) (*self)->kept_[provisioning_class].resource_version.clear();
        (*self)->WriteAfter(provisioning_class, answer || gone ? (*self)->options_.write_delay
                                                               : (*self)->options_.retry_delay);
      });
}

}  // namespace berth::provisioning
