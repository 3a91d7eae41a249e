#include "tests/faults/player.h"

#include <algorithm>

#include "base/strings.h"
#include "tests/faults/dask_play.h"
#include "tests/faults/jobset_play.h"
#include "tests/faults/pod_play.h"
#include "tests/faults/policy_edits.h"
#include "tests/faults/policy_ends.h"
#include "tests/faults/policy_play.h"

namespace berth::sim {
namespace {

using local::Json;

Status Applied(SimWorld& world, const Json& object) {
  const auto done = world.ApplyOne(object);
  if (done) return OkStatus();
  return Error{ErrorCode::kInvalid, done.error().message};
}

Json Review(const char* name, const char* path, const std::vector<std::string>& operations,
            const std::string& label) {
  return {{"name", name},
          {"admissionReviewVersions", Json::array({"v1"})},
          {"clientConfig",
           {{"service",
             {{"name", "kueue-webhook-service"}, {"namespace", "kueue-system"}, {"path", path}}}}},
          {"failurePolicy", "Fail"},
          {"sideEffects", "None"},
          {"objectSelector",
           {{"matchExpressions", Json::array({{{"key", label}, {"operator", "Exists"}}})}}},
          {"rules", Json::array({{{"apiGroups", Json::array({""})},
                                  {"apiVersions", Json::array({"v1"})},
                                  {"operations", operations},
                                  {"resources", Json::array({"pods"})}}})}};
}

}  // namespace

Players::Players(const Story& story, SimWorld& world, Invariants& invariants, Duration patience)
    : invariants_(invariants), patience_(patience) {
  if (HasFramework(story, kPodFramework)) {
    players_.push_back(std::make_unique<PodPlay>(world, invariants));
  }
  if (HasFramework(story, kJobSetFramework)) {
    players_.push_back(std::make_unique<JobSetPlay>(story, world, invariants));
  }
  if (HasFramework(story, kDaskFramework)) {
    players_.push_back(std::make_unique<DaskPlay>(story, world, invariants));
  }
  if (!HasPolicy(story)) return;
  players_.push_back(std::make_unique<PolicyPlay>(world, invariants));
  if (MayDrawEndTraits(story)) {
    players_.push_back(std::make_unique<PolicyEnds>(world, invariants));
  }
}

void Players::Begin() {
  for (const auto& player : players_) player->Begin();
}

void Players::See(const local::StoreEvent& event, bool by_story) {
  for (const auto& player : players_) player->See(event, by_story);
}

Findings Players::Find() const {
  Findings findings;
  for (const auto& player : players_) player->Find(findings);
  return findings;
}

void Players::Look(Duration healthy) {
  const Findings findings = Find();
  std::erase_if(lasted_, [&](const auto& each) { return findings.count(each.first) == 0; });
  for (const auto& [what, text] : findings) {
    Duration& lasted = lasted_[what];
    lasted += healthy;
    if (lasted > patience_) invariants_.Report(what.first, what.second + ": " + text);
  }
}

bool Players::IsOver(const CouldRun& could_run) const {
  return std::all_of(players_.begin(), players_.end(),
                     [&](const auto& player) { return player->IsOver(could_run); });
}

void Players::CheckRest(const CouldRun& could_run) {
  for (const auto& player : players_) player->CheckRest(could_run);
  for (const auto& [what, text] : Find()) {
    invariants_.Report(what.first, what.second + ": " + text + " (at rest)");
  }
}

Player* Players::OwnerOf(const WorkloadFacts& workload) const {
  const auto found =
      std::find_if(players_.begin(), players_.end(),
                   [&workload](const auto& player) { return player->Owns(workload); });
  return found == players_.end() ? nullptr : found->get();
}

bool Players::Keep(const Key& pod) const {
  return std::any_of(players_.begin(), players_.end(),
                     [&pod](const auto& player) { return player->Keeps(pod); });
}

std::vector<std::string> Players::End() {
  std::vector<std::string> lines;
  for (const auto& player : players_) {
    for (std::string& line : player->End()) lines.push_back(std::move(line));
  }
  return lines;
}

void Players::ExpectNothingLeft() {
  for (const auto& player : players_) player->ExpectNothingLeft();
}

Status ReviewPods(SimWorld& world, const std::string& name, const std::string& label) {
  for (const auto& [kind, review] :
       {std::pair<const char*, Json>{"MutatingWebhookConfiguration",
                                     Review("mpod.kb.io", "/mutate--v1-pod", {"CREATE"}, label)},
        std::pair<const char*, Json>{
            "ValidatingWebhookConfiguration",
            Review("vpod.kb.io", "/validate--v1-pod", {"CREATE", "UPDATE"}, label)}}) {
    BERTH_CHECK_OK(Applied(world, {{"apiVersion", "admissionregistration.k8s.io/v1"},
                                   {"kind", kind},
                                   {"metadata", {{"name", name}}},
                                   {"webhooks", Json::array({review})}}));
  }
  return OkStatus();
}

Status DefineKind(SimWorld& world, const std::string& group, const std::string& version,
                  const std::string& kind) {
  const std::string singular = ToLower(kind);
  const Json open = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  return Applied(
      world, {{"apiVersion", "apiextensions.k8s.io/v1"},
              {"kind", "CustomResourceDefinition"},
              {"metadata", {{"name", singular + "s." + group}}},
              {"spec",
               {{"group", group},
                {"scope", "Namespaced"},
                {"names",
                 {{"kind", kind},
                  {"plural", singular + "s"},
                  {"singular", singular},
                  {"listKind", kind + "List"}}},
                {"versions", Json::array({{{"name", version},
                                           {"served", true},
                                           {"storage", true},
                                           {"schema", {{"openAPIV3Schema", open}}},
                                           {"subresources", {{"status", Json::object()}}}}})}}}});
}

}  // namespace berth::sim
