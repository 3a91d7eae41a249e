#include "provisioning/stock.h"

#include <algorithm>
#include <set>

#include "api/labels.h"
#include "base/sha1.h"
#include "base/strings.h"
#include "provisioning/gang.h"
#include "provisioning/policy_steps.h"
#include "provisioning/request_reasons.h"

namespace berth::provisioning {
namespace {

using api::ClassStock;
using api::StockEntry;
using api::StockKey;
using api::StockOutcome;
using api::StockResult;

constexpr std::size_t kMaxKeys = 64;
constexpr std::size_t kMaxOutcomesOfKey = 256;
constexpr std::size_t kMaxOutcomesOfClass = 4096;
constexpr std::size_t kMaxShapeBytes = 120;
constexpr std::size_t kHashLength = 8;
constexpr char kAnyStockout[] = "ResourcePoolExhausted";

struct RestRule {
  std::chrono::seconds first;
  std::chrono::seconds most;
};

RestRule RuleOf(StockResult result, std::string_view reason) {
  using std::chrono::hours;
  using std::chrono::minutes;
  if (reason == "ZoneNotSupported") return {hours(30 * 24), hours(30 * 24)};
  switch (result) {
    case StockResult::kHard: return {hours(6), hours(7 * 24)};
    case StockResult::kQuota: return {hours(1), hours(1)};
    case StockResult::kStockout:
    case StockResult::kTimeout: return {minutes(15), hours(6)};
    case StockResult::kGranted: break;
  }
  return {std::chrono::seconds(0), std::chrono::seconds(0)};
}

std::chrono::seconds RestAfter(const RestRule& rule, std::int32_t strikes) {
  std::chrono::seconds rest = rule.first;
  for (std::int32_t i = 1; i < strikes && rest < rule.most; ++i) rest *= 2;
  return std::min(rest, rule.most);
}

bool SameMachines(const StockKey& a, const StockKey& b) {
  return a.flavor == b.flavor && a.zone == b.zone && a.shape == b.shape;
}

WallTime LastOf(const StockEntry& entry) {
  const WallTime last = entry.outcomes.empty() ? WallTime{} : entry.outcomes.back().asked_at;
  return std::max(last, entry.rest_until);
}

StockEntry* FindEntry(ClassStock& stock, const StockKey& key) {
  const auto found = std::find_if(stock.begin(), stock.end(),
                                  [&key](const StockEntry& each) { return each.key == key; });
  return found == stock.end() ? nullptr : &*found;
}

StockEntry& EntryFor(ClassStock& stock, const StockKey& key) {
  if (StockEntry* found = FindEntry(stock, key)) return *found;
  if (stock.size() >= kMaxKeys) {
    stock.erase(std::min_element(stock.begin(), stock.end(), [](const auto& a, const auto& b) {
      return LastOf(a) < LastOf(b);
    }));
  }
  const auto place =
      std::lower_bound(stock.begin(), stock.end(), key,
                       [](const StockEntry& each, const StockKey& k) { return each.key < k; });
  return *stock.insert(place, StockEntry{.key = key});
}

void Trim(ClassStock& stock) {
  std::size_t all = 0;
  for (StockEntry& entry : stock) {
    std::vector<StockOutcome>& list = entry.outcomes;
    if (list.size() > kMaxOutcomesOfKey) {
      list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(kMaxOutcomesOfKey));
    }
    all += list.size();
  }
  for (; all > kMaxOutcomesOfClass; --all) {
    const auto longest = std::max_element(
        stock.begin(), stock.end(),
        [](const auto& a, const auto& b) { return a.outcomes.size() < b.outcomes.size(); });
    longest->outcomes.erase(longest->outcomes.begin());
  }
}

bool HasOutcome(const StockEntry& entry, const std::string& id) {
  return std::any_of(entry.outcomes.begin(), entry.outcomes.end(),
                     [&id](const StockOutcome& each) { return each.id == id; });
}

void Strike(StockEntry& entry, const StockLesson& lesson) {
  const RestRule rule = RuleOf(lesson.outcome.result, lesson.reason);
  const bool resting = lesson.at < entry.rest_until;
  if (!resting && entry.strikes < INT32_MAX) ++entry.strikes;
  // During a rest only a reason with a longer rest counts.
  const auto before = ResultOf(entry.reason, kAnyStockout);
  if (resting && before && rule.first <= RuleOf(*before, entry.reason).first) return;
  const WallTime until = CutToSeconds(lesson.at) + RestAfter(rule, resting ? 1 : entry.strikes);
  entry.rest_until = std::max(entry.rest_until, until);
  entry.reason = lesson.reason;
}

std::string ShapeOf(const GangPart& part, const std::vector<api::ResourceName>& managed) {
  std::vector<std::string> words;
  for (const auto& [resource, amount] : part.pod) {
    const bool counts = managed.empty()
                            ? resource.find('/') != std::string::npos
                            : std::find(managed.begin(), managed.end(), resource) != managed.end();
    if (counts) words.push_back(resource + "=" + api::FormatAmount(resource, amount));
  }
  for (const auto& [key, value] : part.selector) {
    if (key != api::kZoneLabel) words.push_back(key + "=" + value);
  }
  return words.empty() ? "any" : Join(words, " ");
}

}  // namespace

void StockMemory::Record(const StockLesson& lesson) {
  if (Knows(lesson)) return;
  ClassStock& stock = by_class_[lesson.provisioning_class];
  StockEntry& entry = EntryFor(stock, lesson.key);
  entry.outcomes.push_back(lesson.outcome);
  if (lesson.outcome.result != StockResult::kGranted) {
    Strike(entry, lesson);
  } else {
    for (StockEntry& each : stock) {
      if (!SameMachines(each.key, lesson.key) || each.key.size > lesson.key.size) continue;
      each.strikes = 0;
      each.rest_until = {};
      each.reason.clear();
    }
  }
  Trim(stock);
}

bool StockMemory::Knows(const StockLesson& lesson) const {
  const ClassStock& stock = Of(lesson.provisioning_class);
  return std::any_of(stock.begin(), stock.end(), [&lesson](const StockEntry& each) {
    return each.key == lesson.key && HasOutcome(each, lesson.outcome.id);
  });
}

const StockEntry* StockMemory::RestOf(const std::string& provisioning_class, const StockKey& key,
                                      WallTime now) const {
  const StockEntry* longest = nullptr;
  for (const StockEntry& each : Of(provisioning_class)) {
    if (each.rest_until <= now || each.key.size > key.size || !SameMachines(each.key, key)) {
      continue;
    }
    if (longest == nullptr || each.rest_until > longest->rest_until) longest = &each;
  }
  return longest;
}

bool StockMemory::Overtaken(const std::string& provisioning_class, const StockKey& key,
                            const std::string& id, WallTime since) const {
  const ClassStock& stock = Of(provisioning_class);
  return std::any_of(stock.begin(), stock.end(), [&](const StockEntry& each) {
    return each.key == key &&
           std::any_of(each.outcomes.begin(), each.outcomes.end(), [&](const StockOutcome& other) {
             return other.result == StockResult::kGranted && other.id != id &&
                    other.asked_at > since;
           });
  });
}

const ClassStock& StockMemory::Of(const std::string& provisioning_class) const {
  static const ClassStock kNone;
  const auto found = by_class_.find(provisioning_class);
  return found == by_class_.end() ? kNone : found->second;
}

void StockMemory::Merge(const std::string& provisioning_class, const ClassStock& other) {
  ClassStock& stock = by_class_[provisioning_class];
  for (const StockEntry& theirs : other) {
    StockEntry& ours = EntryFor(stock, theirs.key);
    for (const StockOutcome& outcome : theirs.outcomes) {
      if (!HasOutcome(ours, outcome.id)) ours.outcomes.push_back(outcome);
    }
    std::stable_sort(ours.outcomes.begin(), ours.outcomes.end(),
                     [](const auto& a, const auto& b) { return a.asked_at < b.asked_at; });
    if (theirs.rest_until <= ours.rest_until) continue;
    ours.strikes = std::max(theirs.strikes, ours.strikes);
    ours.rest_until = theirs.rest_until;
    ours.reason = theirs.reason;
  }
  Trim(stock);
}

std::int32_t SizeClass(std::int64_t pods) {
  for (const std::int32_t least : {65, 17, 5, 2}) {
    if (pods >= least) return least;
  }
  return 1;
}

std::string StockId(std::string_view request_uid) {
  return Sha1Hex(request_uid).substr(0, kHashLength);
}

std::optional<StockKey> StockKeyOf(const api::Workload& workload,
                                   const api::ProvisioningRequestConfig& config,
                                   const std::string& step_flavor,
                                   const std::vector<std::string>& flavors,
                                   const std::string& zone) {
  if (step_flavor.empty() && flavors.empty()) return std::nullopt;
  const Gang gang = GangOf(workload, config);
  StockKey key{.flavor = step_flavor.empty() ? Join(flavors, "+") : step_flavor,
               .zone = zone,
               .size = SizeClass(gang.pods())};
  std::set<std::string> shapes;
  for (const GangPart& part : gang.parts) {
    shapes.insert(ShapeOf(part, config.managed_resources));
    const std::string* selected = api::FindValue(part.selector, api::kZoneLabel);
    if (selected != nullptr && key.zone.empty()) key.zone = *selected;
  }
  key.shape = Join({shapes.begin(), shapes.end()}, " + ");
  if (key.shape.size() > kMaxShapeBytes) {
    const std::string hash = Sha1Hex(key.shape).substr(0, kHashLength);
    key.shape = std::string(TruncateUtf8(key.shape, kMaxShapeBytes)) + "… " + hash;
  }
  return key;
}

std::optional<StockResult> ResultOf(std::string_view reason, std::string_view waited) {
  if (reason == "QueuingInfeasibleNoCapacity" || reason == "ZoneNotSupported") {
    return StockResult::kHard;
  }
  switch (Explain(reason).reason_class) {
    case ReasonClass::kStockout: return StockResult::kStockout;
    case ReasonClass::kQuota: return StockResult::kQuota;
    case ReasonClass::kTimeout:
      // A request that was given up tells of the stock where the cloud said that it had none.
      if (Explain(waited).reason_class == ReasonClass::kStockout) return StockResult::kTimeout;
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::string_view StockResultName(StockResult result) {
  switch (result) {
    case StockResult::kGranted: return "granted";
    case StockResult::kStockout: return "stockout";
    case StockResult::kHard: return "hard";
    case StockResult::kQuota: return "quota";
    case StockResult::kTimeout: return "timeout";
  }
  return "";
}

}  // namespace berth::provisioning
