// Writes to the pods of a job of bare pods.
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "integrations/controller/gate_removals.h"
#include "integrations/controller/job_reconciler.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPodsAtOnce = 16;
constexpr char kPodManager[] = "kueue";

// Whether a value has all that a merge patch writes. The server leaves out what is empty.
bool Shows(const Json* value, const Json& patch) {
  if (patch.is_object() && !patch.empty()) {
    if (value == nullptr || !value->is_object()) return false;
    for (const auto& [key, wanted] : patch.items()) {
      const auto found = value->find(key);
      if (!Shows(found == value->end() ? nullptr : &*found, wanted)) return false;
    }
    return true;
  }
  const bool is_empty = value == nullptr || value->is_null() || value->empty();
  if (patch.is_null() || patch.empty()) return is_empty;
  return value != nullptr && *value == patch;
}

// Whether the write happened, and its answer is lost.
bool HasHappened(const PodWrite& write, const Json& object) {
  if (write.patch == nullptr || write.type != kube::PatchType::kMerge) return false;
  Json patch = *write.patch;
  if (const auto metadata = patch.find("metadata"); metadata != patch.end()) {
    metadata->erase("resourceVersion");
  }
  return Shows(&object, patch);
}

// Runs `lanes`, each in order, at most kPodsAtOnce at a time. A lane's failure ends that lane
// alone; the first failure is the result.
struct Lanes {
  std::vector<std::vector<kube::Step>> lanes;
  std::function<void(Status)> done;
  std::size_t next = 0;
  std::size_t running = 0;
  Status result = OkStatus();

  static void Go(const std::shared_ptr<Lanes>& all) {
    while (all->running < kPodsAtOnce && all->next < all->lanes.size()) {
      ++all->running;
      kube::RunSteps(std::move(all->lanes[all->next++]), [all](Status status) {
        if (!status && all->result) all->result = std::move(status);
        --all->running;
        if (all->next == all->lanes.size() && all->running == 0) {
          return std::exchange(all->done, nullptr)(std::move(all->result));
        }
        Go(all);
      });
    }
  }
};

}  // namespace

// The writes of one pod follow each other, those of several pods run together.
kube::Step JobReconciler::PodSteps(std::vector<PodWrite> writes, std::function<void()> on_written) {
  return [this, writes = std::move(writes),
          on_written = std::move(on_written)](std::function<void(Status)> next) {
    auto all = std::make_shared<Lanes>();
    all->done = std::move(next);
    const PodWrite* before = nullptr;
    for (const PodWrite& write : writes) {
      if (before == nullptr || before->pod != write.pod) all->lanes.emplace_back();
      all->lanes.back().push_back(PodStep(write));
      before = &write;
    }
    for (std::vector<kube::Step>& lane : all->lanes) {
      if (!on_written) break;
      lane.push_back([on_written](const std::function<void(Status)>& end) {
        on_written();
        end(OkStatus());
      });
    }
    Lanes::Go(all);
  };
}

// A start takes the gate of admission off pods.
std::function<void()> JobReconciler::ObserverOf(const JobState& job,
                                                const JobAction& action) const {
  const auto* start = std::get_if<StartJob>(&action);
  if (start == nullptr || options_.metrics == nullptr) return nullptr;
  const api::ObjectMeta& meta = job.meta();
  std::vector<api::Workload> started = WorkloadsOf(meta.key());
  const std::string* prebuilt = PrebuiltWorkloadOf(meta);
  for (const std::string& name : {start->workload, prebuilt == nullptr ? "" : *prebuilt}) {
    const auto named = workloads_.Get({meta.namespace_name, name});
    if (named != nullptr) started = {*named};
  }
  std::erase_if(started, [](const api::Workload& each) {
    return !api::IsTrue(each.status.conditions, api::kAdmitted);
  });
  if (started.empty()) return nullptr;
  return [this, workload = std::move(started.front())] {
    ObserveGateRemoval(*options_.metrics, workload, api::kAdmissionGate, clock_.Now());
  };
}

kube::Step JobReconciler::PodStep(PodWrite write) {
  if (write.resource == nullptr) write.resource = &source_.pod_resource();
  return [this, write = std::move(write)](std::function<void(Status)> next) {
    if (write.patch == nullptr) {
      return manager_.client().Delete(*write.resource, write.pod, {.precondition_uid = write.uid},
                                      [this, write, next = std::move(next)](const Status& done) {
                                        if (done) return next(OkStatus());
                                        EndPodWrite(write, done.error(), next);
                                      });
    }
    const bool applies = write.type == kube::PatchType::kApply;
    manager_.client().Patch(*write.resource, write.pod, write.type, *write.patch,
                            {.field_manager = applies ? kPodManager : "berth",
                             .force = applies ? kube::Force::kYes : kube::Force::kNo,
                             .subresource = write.subresource},
                            [this, write, next = std::move(next)](Result<kube::JsonPtr> done) {
                              if (!done) return EndPodWrite(write, done.error(), next);
                              if (*done != nullptr) source_.Ingest(**done);
                              next(OkStatus());
                            });
  };
}

// Another client's deletion counts as success, and so does a write that the pod shows. The pod is
// read again, so that the next plan, which counts pods, does not stand on a state from before the
// write.
void JobReconciler::EndPodWrite(const PodWrite& write, const Error& error,
                                std::function<void(Status)> next) {
  if (error.code == ErrorCode::kNotFound) return next(OkStatus());
  manager_.client().Get(*write.resource, write.pod,
                        [this, write,
                         named = Annotate(error, "writing " + std::string(write.resource->plural) +
                                                     " " + write.pod.ToString()),
                         next = std::move(next)](const Result<kube::JsonPtr>& answer) {
                          if (!answer || *answer == nullptr) return next(named);
                          source_.Ingest(**answer);
                          next(HasHappened(write, **answer) ? OkStatus() : Status(named));
                        });
}

// A pod that the cache still shows may be gone: the garbage collector would take its reference away
// as often as the reference is added. Each pod is read; further pods follow with the next plan.
kube::Step JobReconciler::OwnersStep(const AddOwners& action) {
  return [this, action](std::function<void(Status)> next) {
    auto found = std::make_shared<AddOwners>(action);
    if (found->owners.size() > kPodsAtOnce) found->owners.resize(kPodsAtOnce);
    ReadOwners(found, 0, std::move(next));
  };
}

void JobReconciler::ReadOwners(const std::shared_ptr<AddOwners>& owners, std::size_t at,
                               std::function<void(Status)> next) {
  while (at < owners->owners.size() && owners->owners[at].kind != "Pod") ++at;
  if (at == owners->owners.size()) return WriteOwners(*owners, std::move(next));
  const api::ObjectKey pod{owners->key.namespace_name, owners->owners[at].name};
  manager_.client().Get(
      source_.pod_resource(), pod,
      [this, owners, at, pod, next = std::move(next)](const Result<kube::JsonPtr>& answer) {
        if (!answer && answer.error().code != ErrorCode::kNotFound) {
          return next(Annotate(answer.error(), "reading pod " + pod.ToString()));
        }
        const auto meta = answer ? api::Decode<api::ObjectMeta>(**answer)
                                 : Result<api::ObjectMeta>(answer.error());
        const bool there = meta && meta->uid == owners->owners[at].uid;
        if (!there) owners->owners.erase(owners->owners.begin() + static_cast<std::ptrdiff_t>(at));
        ReadOwners(owners, there ? at + 1 : at, next);
      });
}

// The list of owners is written whole, on the state that it extends.
void JobReconciler::WriteOwners(const AddOwners& action, std::function<void(Status)> next) {
  const auto workload = workloads_.Get(action.key);
  if (workload == nullptr || action.owners.empty()) return next(OkStatus());
  api::ObjectMeta meta;
  meta.name = action.key.name;
  meta.owner_references = workload->meta.owner_references;
  for (const api::OwnerReference& owner : action.owners) meta.owner_references.push_back(owner);
  Json patch = {{"metadata",
                 {{"ownerReferences", api::Encode(meta)["ownerReferences"]},
                  {"resourceVersion", workload->meta.resource_version}}}};
  events_.Record({"kueue.x-k8s.io/v1beta2", "Workload", action.key, workload->meta.uid,
                  workload->meta.resource_version},
                 kube::EventType::kNormal, "OwnerReferencesAdded", "",
                 "Added " + std::to_string(action.owners.size()) + " owner reference(s)");
  WorkloadStep("adding owners", action.key, kube::PatchType::kMerge, std::move(patch),
               {})(std::move(next));
}

}  // namespace berth::integrations
