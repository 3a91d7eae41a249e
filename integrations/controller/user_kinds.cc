#include "integrations/controller/user_kinds.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "base/rfc3339.h"
#include "integrations/controller/object_tree.h"
#include "integrations/declared_kind.h"
#include "integrations/kind_schema.h"
#include "integrations/sample_play.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr api::ResourceKind kJobKind{.group = "integrations.berth.dev",
                                     .version = "v1alpha1",
                                     .kind = "JobKind",
                                     .plural = "jobkinds",
                                     .namespaced = false};
constexpr char kNotServedReason[] = "NotServed";
constexpr int kOkStatus = 200;
constexpr int kNotFoundStatus = 404;
constexpr char kFieldManager[] = "berth-job-kinds";
// A kind whose CRD is missing is looked up again.
constexpr Duration kLookForDefinition = std::chrono::seconds(10);
// And one that is served, as its CRD may be deleted.
constexpr Duration kLookAtDefinition = std::chrono::minutes(1);

Result<JobKindObject> Decode(const api::JsonSource& source) {
  BERTH_TRY(Json object, TreeOf(source));
  BERTH_TRY(api::ObjectMeta meta, api::Decode<api::ObjectMeta>(object));
  JobKindObject decoded;
  decoded.meta = std::move(meta);
  const auto spec = object.find("spec");
  decoded.spec =
      std::make_shared<const Json>(spec == object.end() ? Json::object() : std::move(*spec));
  const auto status = object.find("status");
  if (status == object.end() || !status->is_object()) return decoded;
  const auto conditions = status->find("conditions");
  if (conditions == status->end() || !conditions->is_array()) return decoded;
  for (const Json& each : *conditions) {
    if (each.is_object() && each.value("type", Json()) == "Ready") {
      decoded.ready = std::make_shared<const Json>(each);
    }
  }
  return decoded;
}

bool IsSame(const Json& before, const Json& now) {
  for (const char* key : {"status", "reason", "message", "observedGeneration"}) {
    if (before.value(key, Json()) != now.value(key, Json())) return false;
  }
  return true;
}

// Whether the API server does not serve the kind. No answer is no news.
bool IsGone(const Result<kube::ApiResponse>& answer) {
  return answer ? answer->status == kNotFoundStatus : answer.error().code == ErrorCode::kNotFound;
}

}  // namespace

bool IsSameKind(const JobKind& a, const JobKind& b) {
  return a.group == b.group && a.version == b.version && a.kind == b.kind && a.plural == b.plural;
}

UserKinds::UserKinds(kube::Manager& manager, const Clock& clock, Callbacks callbacks)
    : manager_(manager),
      clock_(clock),
      callbacks_(std::move(callbacks)),
      objects_(manager.OptionalInformerFor<JobKindObject>(kJobKind, Decode)) {}

void UserKinds::Start() {
  kube::Controller& controller = manager_.AddController(*this, {.max_concurrent = 1}, {&objects_});
  controller_ = &controller;
  controller.AddSweep(kube::SweepOf(objects_));
  const auto add = [&controller](const auto& object) { controller.Add(object->meta.key()); };
  objects_.AddHandler({.on_add = add,
                       .on_update = [add](const auto&, const auto& object) { add(object); },
                       .on_delete = add});
  Watch();
}

void UserKinds::Watch() {
  if (!callbacks_.review) return;
  const auto tell = [this](const auto& object) { TellReviews(*object, true); };
  objects_.AddHandler({.on_add = tell,
                       .on_update = [tell](const auto&, const auto& object) { tell(object); },
                       .on_delete = [this](const auto& object) { TellReviews(*object, false); }});
}

void UserKinds::TellReviews(const JobKindObject& object, bool present) const {
  const bool ready =
      present && object.ready != nullptr && object.ready->value("status", "") == "True";
  const Result<KindPtr> kind = ready ? ParseDeclaredKind(*object.spec) : Result<KindPtr>(KindPtr());
  callbacks_.review(object.meta.name, kind ? *kind : nullptr);
}

// The informer does not tell that the CRD of a kind that it has listed is gone.
void UserKinds::Probe(const KindPtr& kind) {
  manager_.client().GetRaw(
      "/apis/" + kind->resource.api_version() + "/" + std::string(kind->resource.plural) +
          "?limit=1",
      [this, kind,
       alive = std::weak_ptr<const bool>(alive_)](const Result<kube::ApiResponse>& answer) {
        if (alive.expired()) return;
        const std::string framework(kind->kind.framework);
        const bool gone = IsGone(answer);
        if (gone ? gone_.insert(framework).second : gone_.erase(framework) > 0) {
          for (const auto& object : objects_.objects()) controller_->Add(object->meta.key());
        }
      });
}

void UserKinds::Reconcile(const api::ObjectKey& key, Done done) {
  const auto object = objects_.Get(key);
  const Result<KindPtr> kind =
      object == nullptr ? Result<KindPtr>(KindPtr()) : ParseDeclaredKind(*object->spec);
  const auto known = compared_.find(key.name);
  const bool fits = kind && *kind != nullptr && known != compared_.end() &&
                    known->second.problem.empty() && *known->second.source == *(*kind)->source;
  if (!kind || *kind == nullptr || fits) return Judge(key, std::move(done));
  manager_.client().GetRaw(
      "/openapi/v3/apis/" + (*kind)->resource.api_version(),
      [this, key, kind = *kind, done = std::move(done),
       alive = std::weak_ptr<const bool>(alive_)](const Result<kube::ApiResponse>& answer) {
        if (alive.expired()) return;
        Compare(key.name, kind, answer);
        Judge(key, done);
      });
}

// Without an answer, what is known stays.
void UserKinds::Compare(const std::string& name, const KindPtr& kind,
                        const Result<kube::ApiResponse>& answer) {
  if (!answer || answer->status != kOkStatus || answer->body == nullptr) return;
  const Result<bool> fits = CheckPaths(*kind, *answer->body);
  if (fits && !*fits) return;
  compared_[name] = {kind->source, fits ? std::string() : fits.error().message};
}

void UserKinds::Judge(const api::ObjectKey& key, Done done) {
  const auto object = objects_.Get(key);
  if (object == nullptr) {
    Forget(key.name);
    judged_.erase(key.name);
    compared_.erase(key.name);
    return done(kube::NextLook{});
  }
  judged_.insert(key.name);
  WriteStatus(*object, Take(*object), std::move(done));
}

void UserKinds::Forget(const std::string& name) {
  const auto known = kinds_.find(name);
  if (known == kinds_.end()) return;
  callbacks_.leave(known->second);
  kinds_.erase(known);
  // Another JobKind may describe the kind, and has been refused so far.
  for (const auto& object : objects_.objects()) {
    if (object->meta.name != name) controller_->Add(object->meta.key());
  }
}

bool UserKinds::is_settled() const {
  if (objects_.is_missing()) return true;
  return objects_.has_synced() &&
         std::all_of(objects_.objects().begin(), objects_.objects().end(),
                     [this](const auto& object) { return judged_.contains(object->meta.name); });
}

UserKinds::Verdict UserKinds::Take(const JobKindObject& object) {
  const std::string& name = object.meta.name;
  Result<KindPtr> kind = ParseDeclaredKind(*object.spec);
  if (!kind) {
    Forget(name);
    return {false, "InvalidDescription", "spec." + kind.error().message};
  }
  for (const auto& [other, described] : kinds_) {
    if (other != name && described->kind.group == (*kind)->kind.group &&
        described->kind.kind == (*kind)->kind.kind) {
      return {false, "AlreadyDescribed", "the JobKind " + other + " describes the kind"};
    }
  }
  if (const auto compared = compared_.find(name); compared != compared_.end() &&
                                                  !compared->second.problem.empty() &&
                                                  *compared->second.source == *(*kind)->source) {
    Forget(name);
    return {false, "InvalidDescription", "spec." + compared->second.problem, true};
  }
  if (const Json* sample = SampleOf(*object.spec)) {
    if (const Status played = PlaySample(*kind, *sample); !played) {
      Forget(name);
      return {false, "InvalidSample", "spec." + played.error().message};
    }
  }
  // A JobKind that was deleted and made anew may describe another kind.
  if (const auto before = kinds_.find(name);
      before != kinds_.end() && !IsSameKind(before->second->kind, (*kind)->kind)) {
    Forget(name);
  }
  if (const Status managed = callbacks_.manage(*kind); !managed) {
    Forget(name);
    return {false, "AlreadyDescribed", managed.error().message};
  }
  kinds_[name] = *kind;
  Probe(*kind);
  if (!callbacks_.is_served(*kind) || gone_.contains(std::string((*kind)->kind.framework))) {
    compared_.erase(name);
    return {
        false, kNotServedReason,
        "the API server does not serve " + (*kind)->resource.api_version() + " " +
            std::string((*kind)->resource.plural) +
            ", or the controller may not list them; install its CustomResourceDefinition, and a "
            "ClusterRole with the label kinds.berth.dev/job-controller"};
  }
  return {true, "Managed", "jobs of the kind are queued"};
}

void UserKinds::WriteStatus(const JobKindObject& object, const Verdict& verdict, Done done) {
  kube::NextLook next;
  if (verdict.reason == kNotServedReason) next = kube::NextLook{kLookForDefinition};
  if (verdict.ready || verdict.may_change) next = kube::NextLook{kLookAtDefinition};
  Json condition = {{"type", "Ready"},
                    {"status", verdict.ready ? "True" : "False"},
                    {"reason", verdict.reason},
                    {"message", verdict.message},
                    {"observedGeneration", object.meta.generation},
                    {"lastTransitionTime", FormatTime(clock_.Now())}};
  if (object.ready != nullptr && IsSame(*object.ready, condition)) return done(next);
  if (object.ready != nullptr && object.ready->value("status", "") == condition["status"]) {
    condition["lastTransitionTime"] = object.ready->value("lastTransitionTime", Json());
  }
  const Json applied = {{"apiVersion", kJobKind.api_version()},
                        {"kind", kJobKind.kind},
                        {"metadata", {{"name", object.meta.name}}},
                        {"status", {{"conditions", Json::array({condition})}}}};
  manager_.client().Patch(
      kJobKind, object.meta.key(), kube::PatchType::kApply, applied,
      {.field_manager = kFieldManager, .force = kube::Force::kYes, .subresource = "status"},
      [next, done = std::move(done)](const Result<kube::JsonPtr>& answer) {
        if (!answer && answer.error().code != ErrorCode::kNotFound) return done(answer.error());
        done(next);
      });
}

}  // namespace berth::integrations
