#include "provisioning/controller/request_reconciler.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "api/owner_key.h"
#include "checks/controller_names.h"
#include "kube/runtime/refused_write.h"
#include "provisioning/check_settings.h"
#include "provisioning/controller/check_memory.h"
#include "provisioning/names.h"

namespace berth::provisioning {
namespace {

using Json = nlohmann::json;
using kube::PatchType;

// The time a created request is assumed to exist although the informer does not show it, before the
// API is asked.
constexpr Duration kInformerLag = std::chrono::seconds(30);

template <typename T>
std::vector<std::string> KeyOfController(const T& object) {
  const api::OwnerReference* owner = api::ControllerOf(object.meta);
  if (owner == nullptr) return {};
  return {api::OwnerKey(object.meta.namespace_name, owner->uid)};
}

}  // namespace

RequestReconciler::RequestReconciler(kube::Manager& manager, const Clock& clock,
                                     kube::EventRecorder& events, DecideOptions options,
                                     StockKeeperOptions stock)
    : manager_(manager),
      clock_(clock),
      events_(events),
      options_(options),
      workloads_(manager.InformerFor<api::Workload>()),
      checks_(manager.InformerFor<api::AdmissionCheck>()),
      configs_(manager.InformerFor<api::ProvisioningRequestConfig>()),
      policies_(manager.OptionalInformerFor<api::ProvisioningPolicy>()),
      requests_(manager.InformerFor<api::ProvisioningRequest>()),
      templates_(manager.InformerFor<api::PodTemplateObject>()),
      flavors_(manager.InformerFor<api::ResourceFlavor>()),
      jobs_(checks::JobsOf(manager)),
      template_steps_(manager),
      check_writer_(manager, events, checks::kProvisioningCheckController),
      spend_(manager.client(), stock.namespace_name),
      stock_(manager.client(), std::move(stock)),
      nodes_(manager, workloads_, requests_,
             [this](const api::ObjectKey& workload) {
               if (controller_ != nullptr) controller_->Add(workload);
             }),
      lease_steps_(manager, clock, events, nodes_) {
  requests_.AddIndex(kOwnerIndex, KeyOfController<api::ProvisioningRequest>);
  templates_.AddIndex(kOwnerIndex, KeyOfController<api::PodTemplateObject>);
  workloads_.AddIndex(kCheckIndex, [](const api::Workload& workload) {
    std::vector<std::string> names;
    for (const auto& check : workload.status.admission_checks) names.push_back(check.name);
    return names;
  });
}

void RequestReconciler::Watch(kube::Controller& controller) {
  controller_ = &controller;
  const auto add = [&controller](const auto& workload) { controller.Add(workload->meta.key()); };
  // The handler of requests adds workloads that have no checks and own requests.
  const auto add_checked = [add](const auto& workload) {
    if (!workload->status.admission_checks.empty()) add(workload);
  };
  const auto add_changed = [add](const auto& old, const auto& now) {
    if (!old->status.admission_checks.empty() || !now->status.admission_checks.empty()) add(now);
  };
  controller.AddSweep(checks::CheckedWorkloads(workloads_));
  workloads_.AddHandler({.on_add = add_checked,
                         .on_update = add_changed,
                         .on_delete = [this, add](const auto& workload) {
                           last_attempt_by_check_.erase(workload->meta.uid);
                           created_.erase(workload->meta.uid);
                           flow_.Drop(workload->meta.uid);
                           waiting_for_budget_.Follow(*workload, /*waits=*/false);
                           WakeFlow();
                           if (!nodes_.LeasedTo(workload->meta.key()).empty()) add(workload);
                         }});
  const auto add_owner = [this, &controller](const auto& request) {
    Forget(*request);
    if (const api::OwnerReference* owner = api::ControllerOf(request->meta)) {
      controller.Add({request->meta.namespace_name, owner->name});
    }
  };
  requests_.AddHandler({.on_add = add_owner,
                        .on_update = [add_owner](const auto&, const auto& now) { add_owner(now); },
                        .on_delete = add_owner});
  // A new template may need another owner; a template deleted under its request is created again.
  const auto add_templates_workload = [this, &controller](const auto& object) {
    const api::OwnerReference* owner = api::ControllerOf(object->meta);
    if (owner == nullptr) return;
    const std::string& space = object->meta.namespace_name;
    if (owner->kind == "Workload") return controller.Add({space, owner->name});
    const auto request = requests_.Get({space, owner->name});
    if (owner->kind != "ProvisioningRequest" || request == nullptr) return;
    if (const api::OwnerReference* workload = api::ControllerOf(request->meta)) {
      controller.Add({space, workload->name});
    }
  };
  templates_.AddHandler({.on_add = add_templates_workload, .on_delete = add_templates_workload});
  WatchSettings(controller);
  const auto stale = [this](const auto&) { flavors_stale_ = true; };
  flavors_.AddHandler({.on_add = stale,
                       .on_update = [this](const auto&, const auto&) { flavors_stale_ = true; },
                       .on_delete = stale});
}

// A changed check, config or policy concerns the Workloads with the check.
void RequestReconciler::WatchSettings(kube::Controller& controller) {
  const auto add_users = [this, &controller](const std::string& check) {
    for (const auto& workload : workloads_.ByIndex(kCheckIndex, check)) {
      controller.Add(workload->meta.key());
    }
  };
  const auto check_changed = [add_users](const auto& check) { add_users(check->meta.name); };
  checks_.AddHandler(
      {.on_add = check_changed,
       .on_update = [check_changed](const auto&, const auto& now) { check_changed(now); },
       .on_delete = check_changed});
  const auto config_changed = [this, add_users](const auto& config) {
    for (const auto& check : checks_.objects()) {
      const Result<std::string> name = ConfigNameOf(*check);
      if (name && *name == config->meta.name) add_users(check->meta.name);
    }
  };
  configs_.AddHandler(
      {.on_add = config_changed,
       .on_update = [config_changed](const auto&, const auto& now) { config_changed(now); },
       .on_delete = config_changed});
  const auto policy_changed = [this, add_users](const auto& policy) {
    for (const auto& check : checks_.objects()) {
      const Result<std::string> name = ConfigNameOf(*check);
      const auto config = name ? configs_.Get({"", *name}) : nullptr;
      if (PolicyNameOf(*check, config.get()) == policy->meta.name) add_users(check->meta.name);
    }
  };
  const auto policy_set = [this, policy_changed](const auto& policy) {
    OpenNodes(*policy);
    policy_changed(policy);
  };
  policies_.AddHandler(
      {.on_add = policy_set,
       .on_update = [policy_set](const auto&, const auto& now) { policy_set(now); },
       .on_delete = policy_changed});
}

void RequestReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  const checks::WorkloadPtr workload = workloads_.Get(key);
  if (workload == nullptr) return ReleaseLeasesOf(key, std::move(done));
  if (const Created* unheard = LongUnheard(workload->meta.uid)) {
    return ReadBack(workload, unheard->request.meta.key(), std::move(done));
  }
  const Situation situation = Observe(*workload);
  CountOpen(situation);
  const bool leases = situation.nodes && !situation.nodes->nodes.empty();
  if (situation.checks.empty() && situation.requests.empty() && situation.templates.empty() &&
      !leases) {
    return done(kube::NextLook{});
  }
  if (AwaitsNodes(situation)) return done(kube::NextLook{kNodesLag});
  if (!HasMemories(key, situation, done)) return;
  Decision decision = Decide(situation, options_, clock_.Now());
  if (!decision.lessons.empty()) {
    for (const StockLesson& lesson : decision.lessons) stock_.Record(lesson);
    decision = Decide(situation, options_, clock_.Now());
  }
  if (!decision.charges.empty()) {
    for (const Charge& charge : decision.charges) RecordCharge(charge);
    return Reconcile(key, std::move(done));
  }
  FollowFlow(*workload, situation, decision);
  waiting_for_budget_.Follow(*workload, decision.waits_for_budget);
  kube::RunSteps(StepsFor(workload, decision), [this, workload, done = std::move(done),
                                                wake = decision.next_wake](const Status& status) {
    if (!status) return done(status.error());
    if (!created_.contains(workload->meta.uid)) return done(kube::NextLook{wake});
    done(kube::NextLook{std::min(wake.value_or(kInformerLag), kInformerLag)});
  });
}

const RequestReconciler::Created* RequestReconciler::LongUnheard(
    const std::string& workload_uid) const {
  const auto created = created_.find(workload_uid);
  if (created == created_.end()) return nullptr;
  const auto& list = created->second;
  const auto found = std::find_if(list.begin(), list.end(), [this](const Created& each) {
    return clock_.SteadyNow() - each.at >= kInformerLag;
  });
  return found == list.end() ? nullptr : &*found;
}

// The watch may be down, or the request was deleted before the watch showed it: assuming that the
// request is missing would create a second one.
void RequestReconciler::ReadBack(const checks::WorkloadPtr& workload, const api::ObjectKey& request,
                                 Done done) {
  manager_.client().Get(
      api::KindOf<api::ProvisioningRequest>(), request,
      [this, workload, request, done = std::move(done)](const Result<kube::JsonPtr>& answer) {
        if (!answer && answer.error().code != ErrorCode::kNotFound) {
          return done(Annotate(answer.error(), "reading ProvisioningRequest " + request.name));
        }
        const auto created = created_.find(workload->meta.uid);
        if (created != created_.end()) {
          std::erase_if(created->second, [&](Created& each) {
            if (each.request.meta.name != request.name) return false;
            each.at = clock_.SteadyNow();
            if (!answer) return true;
            auto now = api::Decode<api::ProvisioningRequest>(**answer);
            if (now) each.request = *std::move(now);
            return false;
          });
          if (created->second.empty()) created_.erase(created);
        }
        Reconcile(workload->meta.key(), done);
      });
}

void RequestReconciler::Forget(const api::ProvisioningRequest& request) {
  const api::OwnerReference* owner = api::ControllerOf(request.meta);
  if (owner == nullptr) return;
  const auto created = created_.find(owner->uid);
  if (created == created_.end()) return;
  std::vector<Created>& list = created->second;
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&request](const Created& each) {
                              return each.request.meta.name == request.meta.name;
                            }),
             list.end());
  if (list.empty()) created_.erase(created);
}

std::vector<kube::Step> RequestReconciler::StepsFor(const checks::WorkloadPtr& workload,
                                                    const Decision& decision) {
  std::vector<kube::Step> steps;
  if (decision.memory) {
    const MemoryWrite& memory = *decision.memory;
    steps.push_back(check_writer_.WriteMemory(
        workload, WithMemory({{api::kAvoidedFlavorsAnnotation, memory.avoided_flavors},
                              {api::kExpiresAtAnnotation, memory.expires_at}},
                             memory.memory)));
    for (const CheckEvent& event : decision.memory->events) {
      steps.push_back(ActionStep(workload, event));
    }
    return steps;
  }
  if (!decision.checks.empty()) steps.push_back(ChecksStep(workload, decision.checks));
  for (const Action& action : decision.actions) steps.push_back(ActionStep(workload, action));
  return steps;
}

kube::Step RequestReconciler::ChecksStep(const checks::WorkloadPtr& workload,
                                         std::vector<api::AdmissionCheckState> changed) {
  std::vector<api::AdmissionCheckState> checks = OurChecks(*workload);
  for (api::AdmissionCheckState& check : checks) {
    for (const api::AdmissionCheckState& each : changed) {
      if (each.name == check.name) check = each;
    }
  }
  return check_writer_.Write(workload, std::move(checks));
}

kube::Step RequestReconciler::ActionStep(const checks::WorkloadPtr& workload,
                                         const Action& action) {
  const std::string& space = workload->meta.namespace_name;
  if (const auto* make = std::get_if<CreateTemplate>(&action)) {
    return template_steps_.Create(*workload, *make);
  }
  if (const auto* ask = std::get_if<CreateRequest>(&action)) {
    return CreateRequestStep(workload, *ask);
  }
  if (const auto* own = std::get_if<OwnTemplate>(&action))
    return template_steps_.Own(*workload, *own);
  if (const auto* drop = std::get_if<DeleteRequest>(&action)) {
    return DeleteRequestStep(space, *drop);
  }
  if (const auto* drop = std::get_if<DeleteTemplate>(&action)) {
    return template_steps_.Delete(api::KindOf<api::PodTemplateObject>(), {space, drop->name});
  }
  if (const auto* take = std::get_if<TakeLease>(&action)) {
    return lease_steps_.Take(workload, *take);
  }
  if (const auto* release = std::get_if<ReleaseLease>(&action)) {
    return lease_steps_.Release(*release);
  }
  return check_writer_.Record(workload, std::get<CheckEvent>(action));
}

// The memory of the charges' queue is written when the request is gone.
kube::Step RequestReconciler::DeleteRequestStep(const std::string& space,
                                                const DeleteRequest& action) {
  kube::Step drop = template_steps_.Delete(api::KindOf<api::ProvisioningRequest>(),
                                           {space, action.name}, action.resource_version);
  if (action.charges.empty()) return drop;
  return
      [this, drop = std::move(drop), charges = action.charges](std::function<void(Status)> next) {
        drop([this, charges, next = std::move(next)](const Status& done) {
          if (!done) return next(done);
          for (const Charge& charge : charges) RecordCharge(charge);
          spend_.Settle(charges.front().queue, next);
        });
      };
}

kube::Step RequestReconciler::CreateRequestStep(const checks::WorkloadPtr& workload,
                                                const CreateRequest& action) {
  return [this, workload, action](std::function<void(Status)> next) {
    manager_.client().Create(
        api::KindOf<api::ProvisioningRequest>(), workload->meta.namespace_name,
        api::Encode(action.request), {.field_manager = checks::kProvisioningCheckController},
        [this, workload, action, next = std::move(next)](const Result<kube::JsonPtr>& done) {
          if (!done && kube::IsRefusal(done.error())) {
            return TellRefusal(workload, action, done.error(), next);
          }
          if (!done && done.error().code == ErrorCode::kAlreadyExists) {
            return ReadExisting(workload, action, next);
          }
          if (!done) {
            return next(
                Annotate(done.error(), "creating ProvisioningRequest " + action.request.meta.name));
          }
          NoteAttempt(*workload, action, done->get());
          next(OkStatus());
        });
  };
}

// The answer of an earlier creation was lost, or the request is that of an earlier Workload of the
// name. The informer may show neither.
void RequestReconciler::ReadExisting(const checks::WorkloadPtr& workload,
                                     const CreateRequest& action,
                                     std::function<void(Status)> next) {
  const api::ObjectKey key{workload->meta.namespace_name, action.request.meta.name};
  manager_.client().Get(
      api::KindOf<api::ProvisioningRequest>(), key,
      [this, workload, action, next = std::move(next)](const Result<kube::JsonPtr>& found) {
        if (!found && found.error().code != ErrorCode::kNotFound) {
          return next(
              Annotate(found.error(), "reading ProvisioningRequest " + action.request.meta.name));
        }
        NoteAttempt(*workload, action, found ? found->get() : nullptr);
        next(OkStatus());
      });
}

// Records nothing for a Workload that is gone. `stored`: null if the request is gone.
void RequestReconciler::NoteAttempt(const api::Workload& workload, const CreateRequest& action,
                                    const Json* stored) {
  if (workloads_.Get(workload.meta.key()) == nullptr) return;
  std::int32_t& last = last_attempt_by_check_[workload.meta.uid][action.check];
  last = std::max(last, action.attempt);
  if (stored != nullptr) NoteCreated(workload, *stored);
}

// The informer may still show the request of an earlier Workload of that name.
void RequestReconciler::NoteCreated(const api::Workload& workload, const Json& answer) {
  auto request = api::Decode<api::ProvisioningRequest>(answer);
  if (!request) return;
  const api::OwnerReference* owner = api::ControllerOf(request->meta);
  if (owner == nullptr || owner->uid != workload.meta.uid) return;
  const auto shown = requests_.Get(request->meta.key());
  if (shown != nullptr && shown->meta.uid == request->meta.uid) return;
  created_[workload.meta.uid].push_back({*std::move(request), clock_.SteadyNow()});
}

// The API refuses the request (a parameter too long, no rights): a person has to act.
void RequestReconciler::TellRefusal(const checks::WorkloadPtr& workload,
                                    const CreateRequest& action, const Error& error,
                                    std::function<void(Status)> next) {
  const std::string message =
      "Error creating ProvisioningRequest \"" + action.request.meta.name + "\": " + error.message;
  events_.Record(kube::ReferenceTo(*workload), kube::EventType::kWarning, "FailedCreate", "",
                 message);
  std::vector<api::AdmissionCheckState> checks = OurChecks(*workload);
  bool changed = false;
  for (api::AdmissionCheckState& check : checks) {
    if (check.name != action.check) continue;
    changed = check.message != message;
    check.message = message;
  }
  const Error failure = Annotate(error, "creating ProvisioningRequest");
  if (!changed) return next(Error{ErrorCode::kUnavailable, failure.message});
  check_writer_.Write(workload,
                      std::move(checks))([next = std::move(next), failure](const Status&) {
    // Retried later: quotas and rights may change.
    next(Error{ErrorCode::kUnavailable, failure.message});
  });
}

}  // namespace berth::provisioning
