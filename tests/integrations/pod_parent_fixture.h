// tests/integrations/pod_parent_fixture.h — a parent of pods with its Workloads and pods, and its
// plan in words.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/pod_groups.h"
#include "api/reasons.h"
#include "integrations/kind_catalogue.h"
#include "integrations/pods/pod_parent.h"
#include "integrations/workload_build.h"

namespace berth::integrations::pod_parent_test {

inline constexpr char kLws[] = "leaderworkerset.x-k8s.io/leaderworkerset";

inline WallTime At(int seconds) { return WallTime{std::chrono::seconds(1'700'000'000 + seconds)}; }

inline api::JobPodSet PodSetOf(const std::string& name, int count) {
  api::JobPodSet pods;
  pods.name = name;
  pods.count = count;
  api::Container container;
  container.name = "c";
  container.requests = {{"cpu", 1000}};
  pods.pod_template.spec.containers = {container};
  return pods;
}

class PodParentTest : public ::testing::Test {
 protected:
  PodParentTest() {
    Use("statefulset");
    situation_.job.meta = {.namespace_name = "default", .name = "db", .uid = "0001"};
    situation_.job.meta.labels = {{api::kQueueLabel, "lq"}};
    situation_.job.pod_sets = {PodSetOf("main", 2)};
    situation_.job.pod_parent.emplace();
  }
  void Use(const char* framework) {
    kind_ = FindBuiltInKind(framework);
    situation_.job.kind = &kind_->kind;
  }
  void UseLeaderWorkerSet(int groups) {
    Use(kLws);
    situation_.job.pod_sets = {PodSetOf("leader", 1), PodSetOf("worker", 2)};
    situation_.job.pod_parent->groups = groups;
  }
  std::string NameOf(int group = 0) const {
    return GroupWorkloadName(situation_.job, *kind_->pods, group);
  }
  // The Workload as the plan made it.
  api::Workload& AddWorkload(int group = 0) {
    std::optional<std::int32_t> index;
    if (kind_->pods->index_workloads) index = group;
    api::Workload made = BuildGroupWorkload(situation_.job, NameOf(group), index, {}, {});
    made.meta.uid = "uid-" + made.meta.name;
    situation_.workloads.push_back(std::move(made));
    return situation_.workloads.back();
  }
  static void Set(api::Workload& workload, const char* type, api::ConditionStatus status,
                  const char* reason) {
    api::SetCondition(
        workload.status.conditions,
        {.type = type, .status = status, .reason = reason, .last_transition_time = At(0)});
  }
  static void Admit(api::Workload& workload) {
    Set(workload, api::kQuotaReserved, api::ConditionStatus::kTrue, "QuotaReserved");
    Set(workload, api::kAdmitted, api::ConditionStatus::kTrue, "Admitted");
    workload.status.admission = api::Admission{.cluster_queue = "cq"};
  }
  static void Hold(api::Workload& workload) {
    Set(workload, api::kQuotaReserved, api::ConditionStatus::kFalse, api::kOnHold);
  }
  // A gated pod; each word names a fact that differs.
  ParentedPod& AddPod(const std::string& name, const std::string& words = "", int age = 0) {
    const auto says = [&words](const char* word) { return words.find(word) != std::string::npos; };
    auto pod = std::make_shared<ParentedPod>();
    pod->meta = {.namespace_name = "default", .name = name, .uid = "uid-" + name};
    pod->meta.creation_timestamp = At(age);
    pod->framework = "statefulset";
    if (!says("running")) pod->gates = {api::kAdmissionGate, api::kTopologyGate};
    pod->has_node = says("running");
    pod->ended = says("ended");
    if (says("deleting")) pod->meta.deletion_timestamp = At(1);
    if (says("marked")) {
      pod->meta.labels = {{api::kManagedLabel, "true"}, {api::kQueueLabel, "lq"}};
      pod->meta.annotations = {
          {api::kPrebuiltWorkloadLabel, NameOf()},
          {api::kPodGroupNameLabel, NameOf()},
          {api::kPodGroupTotalCountAnnotation, "2"},
          {api::kPodGroupServingAnnotation, "true"},
          {api::kRoleHashAnnotation, "main"},
          {api::kPodGroupFastAdmissionAnnotation, "true"},
          {api::kPodGroupPodIndexLabelAnnotation, "apps.kubernetes.io/pod-index"}};
    }
    pods_.push_back(pod);
    return *pod;
  }
  JobPlan Plan() {
    std::vector<ParentedPodPtr> pods(pods_.begin(), pods_.end());
    return PlanPodParent(situation_, *kind_->pods, PlacePods(situation_.job, *kind_->pods, pods),
                         At(10));
  }
  // The actions in words.
  std::vector<std::string> Words() {
    std::vector<std::string> words;
    for (const JobAction& action : Plan().actions) {
      if (const auto* a = std::get_if<CreateWorkload>(&action)) {
        words.push_back("create " + a->workload.meta.name);
      } else if (const auto* d = std::get_if<EndWorkload>(&action)) {
        words.push_back("end " + d->key.name);
      } else if (const auto* u = std::get_if<UpdateWorkloadSpec>(&action)) {
        words.push_back("resize to " + std::to_string(u->spec.pod_sets[0].count));
      } else if (const auto* r = std::get_if<ReleaseQuota>(&action)) {
        const auto* why = api::FindCondition(r->status.conditions, api::kQuotaReserved);
        words.push_back("release: " + why->reason + ": " + why->message);
        EXPECT_FALSE(r->status.admission);
      } else if (const auto* q = std::get_if<SetQueueName>(&action)) {
        words.push_back("queue " + q->queue_name);
      } else if (const auto* o = std::get_if<AddOwners>(&action)) {
        words.push_back("owner " + o->owners[0].kind + " " + o->owners[0].uid);
      } else if (const auto* m = std::get_if<MarkPods>(&action)) {
        for (const PodMark& mark : m->pods) {
          words.push_back((mark.ungate ? "ungate " : "mark ") + mark.pod);
        }
      } else if (const auto* f = std::get_if<SetWorkloadCondition>(&action)) {
        words.push_back(f->condition.type + " " + f->condition.reason);
      } else if (const auto* e = std::get_if<EmitEvent>(&action)) {
        words.push_back("event " + e->reason);
      } else {
        words.emplace_back("another action");
      }
    }
    return words;
  }

  KindPtr kind_;
  JobSituation situation_;
  std::vector<std::shared_ptr<ParentedPod>> pods_;
};

}  // namespace berth::integrations::pod_parent_test
