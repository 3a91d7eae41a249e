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
#include "provisioning/policy_steps.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"

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

// What a RequestReconciler sees of one Workload.

Situation RequestReconciler::Observe(const api::Workload& workload) {
  RefreshFlavors();
  Situation situation;
  situation.workload = &workload;
  situation.flavors = &flavor_table_;
  for (const api::AdmissionCheckState& state : OurChecks(workload)) {
    CheckInput input{.name = state.name};
    const auto check = checks_.Get({"", state.name});
    if (const Result<std::string> name = ConfigNameOf(*check)) {
      // Valid while the informer's store does not change: during this call.
      input.config = configs_.Get({"", *name}).get();
    }
    // A check whose policy is missing is inactive: Kueue's rules alone would ask another class.
    if (const std::string policy = PolicyNameOf(*check, input.config); !policy.empty()) {
      input.policy = policies_.Get({"", policy}).get();
      if (input.policy == nullptr) input.config = nullptr;
    }
    situation.checks.push_back(std::move(input));
  }
  situation.memory = MemoryOf(workload);
  // Without any policy nothing is remembered: Kueue's rules alone.
  if (!policies_.objects().empty()) {
    situation.stock = &stock_.memory();
    situation.flow = &flow_;
  }
  situation.job_deadline = checks::JobDeadlineOf(jobs_, workload);
  if (runs_ != nullptr && !policies_.objects().empty()) {
    situation.past_run = runs_->Expected(workload);
  }
  ObserveRequests(workload, situation);
  ObserveTemplates(workload, situation);
  for (const CheckInput& check : situation.checks) {
    if (check.policy != nullptr && check.policy->max_cost_per_day) {
      situation.spend = &spend_.memory();
    }
  }
  ObserveNodes(workload, situation);
  for (CheckInput& check : situation.checks) {
    check.last_attempt = LastAttempt(workload, check.name, situation.requests);
  }
  return situation;
}

void RequestReconciler::OpenNodes(const api::ProvisioningPolicy& policy) {
  if (NeedsNodes(policy)) nodes_.Open();
}

bool RequestReconciler::AwaitsNodes(const Situation& situation) const {
  return nodes_.IsLoading() &&
         std::any_of(situation.checks.begin(), situation.checks.end(), [](const auto& check) {
           return check.policy != nullptr && NeedsNodes(*check.policy);
         });
}

// Idle nodes are looked for only by a check that is about to ask for capacity; pods only while
// capacity is in use.
void RequestReconciler::ObserveNodes(const api::Workload& workload, Situation& situation) const {
  if (!nodes_.IsOpen() || lease_steps_.AreRefused()) return;
  const bool asked = std::any_of(situation.requests.begin(), situation.requests.end(),
                                 [](const auto& each) { return !each.meta.deletion_timestamp; });
  auto idle = NodeView::Idle::kLeaveOut;
  bool in_use = false;
  for (const CheckInput& check : situation.checks) {
    if (check.policy == nullptr || !NeedsNodes(*check.policy)) continue;
    for (const api::AdmissionCheckState& state : workload.status.admission_checks) {
      if (state.name != check.name) continue;
      const bool reuses = check.policy->reuse && check.policy->reuse->enabled;
      if (state.state == api::CheckState::kReady) in_use = true;
      if (state.state == api::CheckState::kPending && reuses && !asked) {
        idle = NodeView::Idle::kInclude;
      }
    }
  }
  situation.nodes = nodes_.NodesFor(workload, idle);
  if (in_use) situation.pods = nodes_.PodsFor(situation);
}

bool RequestReconciler::HasMemories(const api::ObjectKey& key, const Situation& situation,
                                    const Done& done) {
  const auto go_on = [this, key, done](const Status& status) {
    if (!status) return done(status.error());
    Reconcile(key, done);
  };
  const std::vector<std::string> classes = RememberedClasses(situation);
  if (!stock_.IsLoaded(classes)) {
    stock_.Load(classes, go_on);
    return false;
  }
  const std::string queue = QueueOf(*situation.workload);
  if (situation.spend == nullptr || spend_.IsSettled(queue)) return true;
  spend_.Settle(queue, go_on);
  return false;
}

// A Workload that is gone: its requests are deleted with it, its leases by this.
void RequestReconciler::ReleaseLeasesOf(const api::ObjectKey& gone, Done done) {
  std::vector<kube::Step> steps;
  for (const auto& node : nodes_.LeasedTo(gone)) {
    if (lease_steps_.AreRefused()) break;
    steps.push_back(lease_steps_.Release(
        {.node = node->meta.name, .resource_version = node->meta.resource_version}));
  }
  kube::RunSteps(std::move(steps), [done = std::move(done)](const Status& status) {
    if (!status) return done(status.error());
    done(kube::NextLook{});
  });
}

std::int32_t RequestReconciler::LastAttempt(const api::Workload& workload, const std::string& check,
                                            const std::vector<api::ProvisioningRequest>& requests) {
  std::int32_t last = 0;
  for (const api::ProvisioningRequest& request : requests) {
    last = std::max(last, AttemptOf(request.meta.name, workload.meta.name, check).value_or(0));
  }
  const auto known = last_attempt_by_check_.find(workload.meta.uid);
  if (known == last_attempt_by_check_.end() && last == 0) return 0;
  std::int32_t& kept = last_attempt_by_check_[workload.meta.uid][check];
  kept = std::max(kept, last);
  return kept;
}

std::vector<api::AdmissionCheckState> RequestReconciler::OurChecks(
    const api::Workload& workload) const {
  std::vector<api::AdmissionCheckState> ours;
  for (const api::AdmissionCheckState& state : workload.status.admission_checks) {
    const auto check = checks_.Get({"", state.name});
    if (check != nullptr && check->controller_name == checks::kProvisioningCheckController) {
      ours.push_back(state);
    }
  }
  return ours;
}

void RequestReconciler::ObserveRequests(const api::Workload& workload, Situation& situation) {
  for (const auto& request : requests_.ByIndex(kOwnerIndex, api::OwnerKey(workload.meta))) {
    situation.requests.push_back(*request);
  }
  const auto created = created_.find(workload.meta.uid);
  if (created == created_.end()) return;
  for (const Created& each : created->second) situation.requests.push_back(each.request);
}

void RequestReconciler::ObserveTemplates(const api::Workload& workload,
                                         Situation& situation) const {
  std::vector<std::string> owners{workload.meta.uid};
  for (const api::ProvisioningRequest& request : situation.requests) {
    owners.push_back(request.meta.uid);
  }
  for (const std::string& uid : owners) {
    const std::string owner = api::OwnerKey(workload.meta.namespace_name, uid);
    for (const auto& each : templates_.ByIndex(kOwnerIndex, owner)) {
      situation.templates.push_back({each->meta.name, uid});
    }
  }
}

namespace {

// The requests for which no machines have come yet.
OpenRequests OpenOf(const api::Workload& workload,
                    const std::vector<api::ProvisioningRequest>& requests) {
  OpenRequests open;
  const std::vector<std::string> flavors = FlavorsOf(workload);
  for (const api::ProvisioningRequest& request : requests) {
    if (MayBeGranted(request)) {
      ++open[LaneOf(request.provisioning_class_name, flavors)];
    }
  }
  return open;
}

}  // namespace

// Before the first decision the requests that exist are counted: a new leader opens no more.
void RequestReconciler::SeedFlow() {
  flow_seeded_ = true;
  std::map<std::string, std::vector<api::ProvisioningRequest>> by_owner;
  for (const auto& request : requests_.objects()) {
    const api::OwnerReference* owner = api::ControllerOf(request->meta);
    if (owner != nullptr) by_owner[owner->uid].push_back(*request);
  }
  for (const auto& [uid, requests] : by_owner) {
    const api::OwnerReference* owner = api::ControllerOf(requests.front().meta);
    const auto workload = workloads_.Get({requests.front().meta.namespace_name, owner->name});
    if (workload != nullptr && workload->meta.uid == uid) {
      flow_.SetOpen(uid, OpenOf(*workload, requests));
    }
  }
}

void RequestReconciler::CountOpen(const Situation& situation) {
  if (situation.flow == nullptr) return;
  if (!flow_seeded_) SeedFlow();
  flow_.SetOpen(situation.workload->meta.uid, OpenOf(*situation.workload, situation.requests));
  if (situation.checks.empty()) {
    flow_.SetWait(FlowPlaceOf(*situation.workload), {}, std::nullopt);
  }
  WakeFlow();
}

// Takes the place of the Workload from the decision; a decision that writes the memory alone
// changes no place.
void RequestReconciler::FollowFlow(const api::Workload& workload, const Situation& situation,
                                   const Decision& decision) {
  if (situation.flow == nullptr || decision.memory) return;
  OpenRequests open = OpenOf(workload, situation.requests);
  for (const Action& action : decision.actions) {
    if (const auto* ask = std::get_if<CreateRequest>(&action)) {
      ++open[LaneOf(ask->request.provisioning_class_name, FlavorsOf(workload))];
    }
  }
  flow_.SetOpen(workload.meta.uid, std::move(open));
  flow_.SetWait(FlowPlaceOf(workload), workload.meta.key(), decision.waits);
  WakeFlow();
}

// A charge that is taken back may let a Workload ask that waits for the budget.
void RequestReconciler::RecordCharge(const Charge& charge) {
  spend_.Record(charge);
  if (charge.nano_dollars == 0) WakeForBudget(charge.queue);
}

void RequestReconciler::WakeForBudget(const std::string& queue) {
  if (wake_others_) wake_others_(queue);
  for (const api::ObjectKey& key : waiting_for_budget_.Of(queue)) controller_->Add(key);
}

void RequestReconciler::WakeFlow() {
  for (const api::ObjectKey& key : flow_.TakeReady()) controller_->Add(key);
}

void RequestReconciler::RefreshFlavors() {
  if (!std::exchange(flavors_stale_, false)) return;
  flavor_table_.clear();
  for (const auto& flavor : flavors_.objects()) flavor_table_[flavor->meta.name] = *flavor;
}

// The classes whose stock decides about the Workload.
std::vector<std::string> RequestReconciler::RememberedClasses(const Situation& situation) {
  std::vector<std::string> classes;
  if (situation.stock == nullptr) return classes;
  const auto add = [&classes](const std::string& name) {
    if (!name.empty() && std::find(classes.begin(), classes.end(), name) == classes.end()) {
      classes.push_back(name);
    }
  };
  for (const CheckInput& input : situation.checks) {
    if (input.config == nullptr) continue;
    add(input.config->provisioning_class_name);
    if (input.policy == nullptr) continue;
    for (const api::ProvisioningStep& step : StepsOf(*input.policy)) {
      add(step.provisioning_class_name);
    }
  }
  for (const api::ProvisioningRequest& request : situation.requests) {
    add(request.provisioning_class_name);
  }
  return classes;
}

}  // namespace berth::provisioning
