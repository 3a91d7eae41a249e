#include "provisioning/controller/prewarm_reconciler.h"

#include <chrono>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "api/owner_key.h"
#include "api/provisioning_labels.h"
#include "base/cron_schedule.h"
#include "base/rfc3339.h"
#include "provisioning/controller/node_view.h"
#include "provisioning/reuse.h"

namespace berth::provisioning {
namespace {

using kube::Json;

constexpr char kSetDetail[] = "ResizeRequestName";
constexpr char kPrewarmImpossibleReason[] = "PrewarmImpossible";
constexpr char kPrewarmIdleReason[] = "PrewarmIdle";
constexpr char kFieldManager[] = "kueue-prewarm";

std::vector<std::string> PolicyOfWorkload(const api::Workload& workload) {
  const std::string* policy = api::FindValue(workload.meta.labels, api::kPrewarmLabel);
  return policy == nullptr ? std::vector<std::string>{} : std::vector{*policy};
}

std::vector<std::string> PolicyOfNode(const api::Node& node) {
  const std::string* policy = api::FindValue(node.meta.annotations, api::kPrewarmLabel);
  return policy == nullptr ? std::vector<std::string>{} : std::vector{*policy};
}

// What the schedule or the time zone lacks; empty: nothing.
std::string ProblemOf(const api::ProvisioningPrewarm& rule, TimeZone& zone) {
  if (!rule.schedule.empty()) {
    const auto schedule = CronSchedule::Parse(rule.schedule);
    if (!schedule) return "spec.prewarm.schedule: " + schedule.error().message;
  }
  if (rule.time_zone.empty()) return "";
  auto loaded = LoadTimeZone(rule.time_zone);
  if (!loaded) return "spec.prewarm.timeZone: " + loaded.error().message;
  zone = *std::move(loaded);
  return "";
}

}  // namespace

PrewarmReconciler::PrewarmReconciler(kube::Manager& manager, const Clock& clock,
                                     kube::EventRecorder& events)
    : manager_(manager),
      clock_(clock),
      events_(events),
      policies_(manager.OptionalInformerFor<api::ProvisioningPolicy>()),
      requests_(manager.OptionalInformerFor<api::ProvisioningRequest>()),
      workloads_(manager.InformerFor<api::Workload>()),
      flavors_(manager.InformerFor<api::ResourceFlavor>()) {
  workloads_.AddIndex(kPolicyIndex, PolicyOfWorkload);
  requests_.AddIndex(kOwnerIndex, [](const api::ProvisioningRequest& request) {
    const api::OwnerReference* owner = api::ControllerOf(request.meta);
    if (owner == nullptr) return std::vector<std::string>{};
    return std::vector{api::OwnerKey(request.meta.namespace_name, owner->uid)};
  });
}

void PrewarmReconciler::Watch(kube::Controller& controller) {
  controller_ = &controller;
  controller.AddSweep(kube::SweepOf(policies_));
  const auto policy_set = [this](const auto& policy) {
    if (policy->prewarm) Open();
    if (nodes_ != nullptr) controller_->Add(policy->meta.key());
  };
  policies_.AddHandler(
      {.on_add = policy_set,
       .on_update = [policy_set](const auto&, const auto& now) { policy_set(now); },
       .on_delete = policy_set});
  const auto workload_set = [this](const auto& workload) {
    for (const std::string& policy : PolicyOfWorkload(*workload)) {
      Open();
      controller_->Add({"", policy});
    }
  };
  workloads_.AddHandler(
      {.on_add = workload_set,
       .on_update = [workload_set](const auto&, const auto& now) { workload_set(now); },
       .on_delete = workload_set});
  const auto request_set = [this](const auto& request) {
    const api::OwnerReference* owner = api::ControllerOf(request->meta);
    if (nodes_ == nullptr || owner == nullptr) return;
    const auto workload = workloads_.Get({request->meta.namespace_name, owner->name});
    if (workload == nullptr) return;
    for (const std::string& policy : PolicyOfWorkload(*workload)) controller_->Add({"", policy});
  };
  requests_.AddHandler(
      {.on_add = request_set,
       .on_update = [request_set](const auto&, const auto& now) { request_set(now); },
       .on_delete = request_set});
}

void PrewarmReconciler::Open() {
  if (nodes_ != nullptr) return;
  nodes_ = &manager_.InformerFor<api::Node>();
  nodes_->AddIndex(kPolicyIndex, PolicyOfNode);
  nodes_->AddIndex(kSetIndex, [](const api::Node& node) {
    std::string set = SetOf(node);
    return set.empty() ? std::vector<std::string>{} : std::vector{std::move(set)};
  });
  nodes_->AddHandler({.on_add = [this](const auto&) { AddAll(); },
                      .on_update =
                          [this](const auto& before, const auto& now) {
                            if (before->meta.labels != now->meta.labels ||
                                before->meta.annotations != now->meta.annotations) {
                              AddAll();
                            }
                          }});
}

// A node may be seen before its request names it: few policies prewarm, and each is looked at.
void PrewarmReconciler::AddAll() {
  for (const auto& policy : policies_.objects()) {
    if (policy->prewarm) controller_->Add(policy->meta.key());
  }
}

PrewarmSituation PrewarmReconciler::Observe(const std::string& policy, FlavorsByName& flavors) {
  PrewarmSituation situation;
  for (const auto& flavor : flavors_.objects()) flavors[flavor->meta.name] = *flavor;
  situation.flavors = &flavors;
  // Pointers are valid while the informers' stores do not change: during this call.
  situation.policy = policies_.Get({"", policy}).get();
  std::set<const api::Node*> brought;
  for (const auto& workload : workloads_.ByIndex(kPolicyIndex, policy)) {
    situation.workloads.push_back(workload.get());
    for (const auto& request : requests_.ByIndex(kOwnerIndex, api::OwnerKey(workload->meta))) {
      const std::string* set = api::FindValue(request->provisioning_class_details, kSetDetail);
      if (set == nullptr || set->empty()) continue;
      for (const auto& node : nodes_->ByIndex(kSetIndex, *set)) brought.insert(node.get());
    }
  }
  situation.brought.assign(brought.begin(), brought.end());
  for (const auto& node : nodes_->ByIndex(kPolicyIndex, policy)) {
    situation.kept.push_back(node.get());
  }
  return situation;
}

void PrewarmReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  if (nodes_ == nullptr) return done(kube::NextLook{});
  if (!nodes_->has_synced()) return done(kube::NextLook{kNodesLag});
  FlavorsByName flavors;
  PrewarmSituation situation = Observe(key.name, flavors);
  if (situation.policy != nullptr && situation.policy->prewarm) {
    const std::string problem = ProblemOf(*situation.policy->prewarm, situation.zone);
    if (!problem.empty()) {
      Tell(key.name, problem);
      situation.policy = nullptr;
    }
  }
  const PrewarmDecision decision = DecidePrewarm(situation, clock_.Now());
  std::vector<kube::Step> steps;
  if (decision.create) steps.push_back(CreateStep(*decision.create));
  if (decision.idle) steps.push_back(IdleStep(*decision.idle, key.name));
  for (const std::string& node : decision.keep) {
    steps.push_back(NodeStep(node, key.name, /*keep=*/true));
  }
  for (const std::string& node : decision.release) {
    steps.push_back(NodeStep(node, key.name, /*keep=*/false));
  }
  for (const api::ObjectKey& workload : decision.remove) steps.push_back(DeleteStep(workload));
  kube::RunSteps(std::move(steps),
                 [done = std::move(done), wake = decision.next_wake](const Status& status) {
                   if (!status) return done(status.error());
                   done(kube::NextLook{wake});
                 });
}

kube::Step PrewarmReconciler::CreateStep(const api::Workload& workload) {
  return [this, workload](std::function<void(Status)> next) {
    manager_.client().Create(
        api::KindOf<api::Workload>(), workload.meta.namespace_name, api::Encode(workload),
        {.field_manager = kFieldManager},
        [this, workload, next = std::move(next)](const Result<kube::JsonPtr>& made) {
          if (made || made.error().code == ErrorCode::kAlreadyExists) return next(OkStatus());
          Tell(workload.meta.labels.at(api::kPrewarmLabel), made.error().message);
          next(Annotate(made.error(), "creating Workload " + workload.meta.name));
        });
  };
}

kube::Step PrewarmReconciler::DeleteStep(const api::ObjectKey& workload) {
  return [this, workload](std::function<void(Status)> next) {
    manager_.client().Delete(api::KindOf<api::Workload>(), workload,
                             {.propagation_policy = "Background"},
                             [workload, next = std::move(next)](const Status& gone) {
                               if (gone || gone.error().code == ErrorCode::kNotFound)
                                 return next(OkStatus());
                               next(Annotate(gone.error(), "deleting Workload " + workload.name));
                             });
  };
}

kube::Step PrewarmReconciler::IdleStep(const PrewarmIdle& idle, const std::string& policy) {
  return [this, idle, policy](std::function<void(Status)> next) {
    Json patch;
    patch["metadata"]["resourceVersion"] = idle.resource_version;
    patch["metadata"]["annotations"][api::kIdleSinceAnnotation] =
        idle.since ? Json(FormatTime(*idle.since)) : Json(nullptr);
    if (idle.ends) patch["spec"]["active"] = false;
    manager_.client().Patch(
        api::KindOf<api::Workload>(), idle.workload, kube::PatchType::kMerge, patch,
        {.field_manager = kFieldManager},
        [this, idle, policy, next = std::move(next)](const Result<kube::JsonPtr>& written) {
          if (!written) {
            if (written.error().code == ErrorCode::kNotFound) return next(OkStatus());
            return next(Annotate(written.error(), "marking Workload " + idle.workload.name));
          }
          const auto object = policies_.Get({"", policy});
          if (idle.ends && object != nullptr) {
            events_.Record(
                kube::ReferenceTo(*object), kube::EventType::kNormal, kPrewarmIdleReason, "",
                "no workload has used its standing nodes since " + FormatTime(*idle.since) +
                    ": the nodes are removed until the next window");
          }
          next(OkStatus());
        });
  };
}

kube::Step PrewarmReconciler::NodeStep(const std::string& node, const std::string& policy,
                                       bool keep) {
  const Json yes = keep ? Json("true") : Json(nullptr);
  Json patch;
  patch["metadata"]["annotations"] = {{api::kPrewarmLabel, keep ? Json(policy) : Json(nullptr)},
                                      {api::kScaleDownDisabledAnnotation, yes},
                                      {api::kDoNotDisruptAnnotation, yes}};
  return [this, node, policy, patch = std::move(patch)](std::function<void(Status)> next) {
    manager_.client().Patch(
        api::KindOf<api::Node>(), {"", node}, kube::PatchType::kMerge, patch,
        {.field_manager = kFieldManager},
        [this, node, policy, next = std::move(next)](const Result<kube::JsonPtr>& written) {
          if (written) {
            nodes_->Ingest(**written);
            return next(OkStatus());
          }
          const ErrorCode code = written.error().code;
          if (code == ErrorCode::kNotFound) return next(OkStatus());
          if (code == ErrorCode::kForbidden) {
            Tell(policy,
                 "prewarmed nodes are not kept: " + written.error().message +
                     "; `kubectl apply -f manifests/components/reuse/role.yaml` grants the right");
          }
          next(Annotate(written.error(), "keeping node " + node));
        });
  };
}

void PrewarmReconciler::Tell(const std::string& policy, const std::string& message) {
  const auto object = policies_.Get({"", policy});
  if (object == nullptr) return;
  events_.Record(kube::ReferenceTo(*object), kube::EventType::kWarning, kPrewarmImpossibleReason,
                 "", message);
}

}  // namespace berth::provisioning
