#include "admission/controller/configuration.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/parts.h"
#include "api/codec/reader.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

using api::Reader;
using Json = nlohmann::json;

// Read, some of them in part (what is left out of those is noted field by field).
constexpr std::array<std::string_view, 11> kReadFields{"apiVersion",
                                                       "fairSharing",
                                                       "featureGates",
                                                       "integrations",
                                                       "kind",
                                                       "leaderElection",
                                                       "namespace",
                                                       "manageJobsWithoutQueueName",
                                                       "waitForPodsReady",
                                                       "resources",
                                                       "managedJobsNamespaceSelector"};
constexpr std::array<std::string_view, 13> kOtherFields{"admissionFairSharing",
                                                        "clientConnection",
                                                        "controller",
                                                        "health",
                                                        "internalCertManagement",
                                                        "metrics",
                                                        "multiKueue",
                                                        "objectRetentionPolicies",
                                                        "pprofBindAddress",
                                                        "queueVisibility",
                                                        "tls",
                                                        "visibilityServer",
                                                        "webhook"};

constexpr api::Words<FairSharingRule, 2> kRuleWords{
    {{"LessThanOrEqualToFinalShare", FairSharingRule::kLessThanOrEqualToFinalShare},
     {"LessThanInitialShare", FairSharingRule::kLessThanInitialShare}}};
constexpr api::Words<queue::RequeuingTimestamp, 2> kTimestampWords{
    {{"Eviction", queue::RequeuingTimestamp::kEviction},
     {"Creation", queue::RequeuingTimestamp::kCreation}}};
constexpr api::Words<queue::ResourceTransformation::Strategy, 2> kTransformationWords{
    {{"Retain", queue::ResourceTransformation::Strategy::kRetain},
     {"Replace", queue::ResourceTransformation::Strategy::kReplace}}};

template <std::size_t kCount>
bool Contains(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void ReadSeconds(const Reader& in, std::chrono::seconds& out) {
  std::string text;
  in.Get(text);
  if (text.empty()) return;
  const std::optional<Duration> duration = ParseGoDuration(text);
  if (!duration) return in.Fail("\"" + text + "\" is not a duration such as 30s or 5m");
  out = std::chrono::duration_cast<std::chrono::seconds>(*duration);
}

// Fields of `in` beyond `known` are put on the list of what is ignored.
void NoteOthers(const Reader& in, const std::string& path, std::initializer_list<const char*> known,
                std::vector<std::string>& ignored) {
  if (!in.present() || !in.json().is_object()) return;
  for (const auto& [key, value] : in.json().items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      ignored.push_back(path + "." + key);
    }
  }
}

void ReadWaitForPodsReady(const Reader& in, Configuration& out) {
  PodsReadyOptions& options = out.admission.pods_ready;
  in.Field("enable").Get(options.enabled);  // v1beta1
  ReadSeconds(in.Field("timeout"), options.timeout);
  options.recovery_timeout = options.timeout;
  ReadSeconds(in.Field("recoveryTimeout"), options.recovery_timeout);
  const Reader requeuing = in.Field("requeuingStrategy");
  requeuing.Field("timestamp").Get(out.admission.scheduler.pods_ready_requeuing, kTimestampWords);
  requeuing.Field("backoffLimitCount").Get(options.backoff_limit_count);
  std::int32_t base = static_cast<std::int32_t>(options.backoff_base.count());
  std::int32_t max = static_cast<std::int32_t>(options.backoff_max.count());
  requeuing.Field("backoffBaseSeconds").Get(base);
  requeuing.Field("backoffMaxSeconds").Get(max);
  options.backoff_base = std::chrono::seconds(base);
  options.backoff_max = std::chrono::seconds(max);
  bool block = false;
  in.Field("blockAdmission").Get(block);
  if (block) out.ignored.emplace_back("waitForPodsReady.blockAdmission");
}

void ReadFairSharing(const Reader& in, Configuration& out) {
  if (!in.present()) return;
  bool enable = true;
  in.Field("enable").Get(enable);  // v1beta1; in v1beta2 the block's presence enables it
  if (!enable) return;
  FairSharing& fair = out.admission.scheduler.fair_sharing.emplace();
  std::vector<FairSharingRule> rules;
  in.Field("preemptionStrategies").List(rules, [](const Reader& item, FairSharingRule& rule) {
    item.Get(rule, kRuleWords);
  });
  if (!rules.empty()) fair.rules = std::move(rules);
}

void ReadResources(const Reader& in, Configuration& out) {
  in.Field("excludeResourcePrefixes").Get(out.admission.scheduler.excluded_resource_prefixes);
  in.Field("transformations")
      .List(out.admission.scheduler.transformations,
            [](const Reader& item, queue::ResourceTransformation& transformation) {
              item.Field("input").Get(transformation.input);
              item.Field("strategy").Get(transformation.strategy, kTransformationWords);
              item.Field("multiplyBy").Get(transformation.multiply_by);
              const Reader outputs = item.Field("outputs");
              if (!outputs.present() || !outputs.json().is_object()) return;
              for (const auto& [resource, quantity] : outputs.json().items()) {
                outputs.Field(resource.c_str()).Get(transformation.outputs[resource]);
              }
            });
  NoteOthers(in, "resources", {"excludeResourcePrefixes", "transformations"}, out.ignored);
}

void ReadFeatureGates(const Reader& in, Configuration& out) {
  if (!in.present() || !in.json().is_object()) return;
  for (const auto& [name, value] : in.json().items()) {
    bool enabled = false;
    in.Field(name.c_str()).Get(enabled);
    if (!out.admission.scheduler.gates.Set(name, enabled)) {
      out.ignored.push_back("featureGates." + name);
    }
  }
}

void ReadAll(const Reader& in, Configuration& out) {
  for (const auto& [key, value] : in.json().items()) {
    if (Contains(kReadFields, key)) continue;
    if (!Contains(kOtherFields, key)) return in.Field(key.c_str()).Fail("unknown field");
    out.ignored.push_back(key);
  }
  in.Field("namespace").Get(out.namespace_name);
  in.Field("manageJobsWithoutQueueName").Get(out.manage_jobs_without_queue_name);
  const Reader selector = in.Field("managedJobsNamespaceSelector");
  if (selector.present()) api::Read(selector, out.managed_jobs_namespace_selector.emplace());
  ReadWaitForPodsReady(in.Field("waitForPodsReady"), out);
  ReadFairSharing(in.Field("fairSharing"), out);
  ReadResources(in.Field("resources"), out);
  ReadFeatureGates(in.Field("featureGates"), out);
  const Reader integrations = in.Field("integrations");
  if (integrations.Field("frameworks").present()) out.frameworks.clear();
  integrations.Field("frameworks").Get(out.frameworks);
  integrations.Field("labelKeysToCopy").Get(out.label_keys_to_copy);
  NoteOthers(integrations, "integrations", {"frameworks", "labelKeysToCopy"}, out.ignored);
  const Reader election = in.Field("leaderElection");
  election.Field("leaderElect").Get(out.leader_election);
  NoteOthers(election, "leaderElection", {"leaderElect"}, out.ignored);
}

}  // namespace

std::optional<Duration> ParseGoDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    Duration span;
  };
  constexpr std::array<Unit, 5> kUnits{{{"ms", std::chrono::milliseconds(1)},
                                        {"us", std::chrono::microseconds(1)},
                                        {"s", std::chrono::seconds(1)},
                                        {"m", std::chrono::minutes(1)},
                                        {"h", std::chrono::hours(1)}}};
  if (text == "0") return Duration::zero();
  if (text.empty()) return std::nullopt;
  Duration sum{};
  while (!text.empty()) {
    const std::size_t digits = text.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || digits > 9) return std::nullopt;
    const std::optional<std::int64_t> count = ParseInt64(text.substr(0, digits));
    text.remove_prefix(digits);
    const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& candidate) {
      return text.starts_with(candidate.name);
    });
    if (!count || unit == kUnits.end()) return std::nullopt;
    text.remove_prefix(unit->name.size());
    sum += unit->span * *count;
  }
  return sum;
}

Result<Configuration> ReadConfiguration(const Json& document) {
  const std::string version =
      document.is_object() ? document.value("apiVersion", Json()).dump() : "";
  if (version != "\"config.kueue.x-k8s.io/v1beta1\"" &&
      version != "\"config.kueue.x-k8s.io/v1beta2\"") {
    return Error{ErrorCode::kInvalid,
                 "apiVersion must be config.kueue.x-k8s.io/v1beta2 or v1beta1, kind Configuration"};
  }
  return api::ReadAs<Configuration>(document, ReadAll);
}

}  // namespace berth::admission
