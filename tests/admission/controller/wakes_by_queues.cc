// The rows of wakes_test.cc in which a LocalQueue, a Namespace, a ClusterQueue or a Cohort changes.
#include "admission/preemption/fair_preemption.h"
#include "tests/admission/controller/wakes_world.h"

namespace berth::admission {
namespace {

void ShareFairly(AdmissionControllersOptions& options) {
  options.driver.scheduler.fair_sharing.emplace();
}

// In a cohort with quota for 4 CPUs, `a` has all of them; `w` may preempt `a` once the share of
// `owner` counts less.
void WaitForShare(WakesWorld& world, const Json& of_owner) {
  Json owner = {{"preemption", {{"reclaimWithinCohort", "Any"}}}};
  owner.update(of_owner);
  world.PutCohort("org", 4);
  world.PutOrg(0, 0, owner);
  world.PutWorkload("a", 4, {{"queueName", "borrower"}});
  world.Run(3s);
  world.PutWorkload("w", 2, {{"queueName", "owner"}});
}

std::vector<WakeRow> OfDoors() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"local-queue-created", kOutside,
       [](W w) {
         w.PutQueues(4);
         w.PutWorkload("w", 4, {{"queueName", "later"}});
       },
       [](W w) { w.PutLocalQueue("later", "cq"); }},
      {"local-queue-stop-policy", kOutside,
       [](W w) {
         w.PutQueues(4);
         w.PutLocalQueue("lq", "cq", "Hold");
         w.PutWorkload("w", 4);
       },
       [](W w) { w.PutLocalQueue("lq", "cq"); }},
      {"local-queue-cluster-queue", kParked,
       [](W w) {
         w.WaitForQuota();
         w.PutClusterQueue("other", 4);
       },
       [](W w) {  // the field is immutable
         w.RemoveKueue("namespaces/team/localqueues/lq");
         w.PutLocalQueue("lq", "other");
       }},
      {"namespace-labels", kParked,
       [](W w) {
         w.PutQueues(4, {{"namespaceSelector", {{"matchLabels", {{"team", "x"}}}}}});
         w.PutWorkload("w", 4);
       },
       [](W w) {
         w.PutAt("/api/v1/namespaces",
                 R"({"metadata": {"name": "team", "labels": {"team": "x"}}})");
       }},
  };
}

std::vector<WakeRow> OfClusterQueues() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"cluster-queue-created", kOutside,
       [](W w) {
         w.PutQueues(4);
         w.PutLocalQueue("later", "later");
         w.PutWorkload("w", 4, {{"queueName", "later"}});
       },
       [](W w) { w.PutClusterQueue("later", 4); }},
      {"nominal-quota", kParked, [](W w) { w.WaitForQuota(); },
       [](W w) { w.PutClusterQueue("cq", 8); }},
      {"borrowing-limit", kParked,
       [](W w) {
         w.PutOrg(2, 4, Limited(2, "borrowingLimit", 0));
         w.PutWorkload("w", 4, {{"queueName", "owner"}});
       },
       [](W w) { w.PutMember("owner", 2); }},
      {"lending-limit", kParked,
       [](W w) {
         w.PutOrg(2, 4, Json::object(), Limited(4, "lendingLimit", 0));
         w.PutWorkload("w", 4, {{"queueName", "owner"}});
       },
       [](W w) { w.PutMember("borrower", 4); }},
      {"cohort-name", kParked,
       [](W w) {
         w.PutOrg(2, 4);
         w.PutMember("owner", 2, Json::object(), "alone");
         w.PutWorkload("w", 4, {{"queueName", "owner"}});
       },
       [](W w) { w.PutMember("owner", 2); }},
      {"cohort-name-of-lender", kParked,
       [](W w) {
         w.PutOrg(2, 4);
         w.PutMember("borrower", 4, Json::object(), "alone");
         w.PutWorkload("w", 4, {{"queueName", "owner"}});
       },
       [](W w) { w.PutMember("borrower", 4); }},
      {"cohort-name-of-borrower", kParked, [](W w) { w.LendToA(); },
       [](W w) { w.PutMember("borrower", 0, Json::object(), "elsewhere"); }},
      {"borrowing-queue-deleted", kParked, [](W w) { w.LendToA(); },
       [](W w) { w.RemoveKueue("clusterqueues/borrower"); }},
  };
}

std::vector<WakeRow> OfRulesOfQueues() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"flavor-of-queue", kParked,
       [](W w) {
         w.WaitForQuota();
         w.PutFlavor("more", "{}");
       },
       [](W w) {
         w.PutClusterQueue("cq", 4, Groups(R"([
           {"name": "default", "resources": [{"name": "cpu", "nominalQuota": 4}]},
           {"name": "more", "resources": [{"name": "cpu", "nominalQuota": 4}]}])"));
       }},
      {"resource-of-queue", kParked,
       [](W w) {
         w.PutQueues(4);
         w.PutWorkload("w", 1);
         w.EditPods("w", "containers", Json::parse(R"([{"name": "c", "resources": {
           "requests": {"memory": "1Gi"}}}])"));
       },
       [](W w) {
         w.PutClusterQueue("cq", 4, Json::parse(R"({"resourceGroups": [
           {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": [
             {"name": "cpu", "nominalQuota": 4}, {"name": "memory", "nominalQuota": "1Gi"}]}]}]})"));
       }},
      {"stop-policy", kActive,
       [](W w) {
         w.PutQueues(4, {{"stopPolicy", "Hold"}});
         w.PutWorkload("w", 4);
       },
       [](W w) { w.PutClusterQueue("cq", 4); }},
      {"namespace-selector", kParked,
       [](W w) {
         w.PutQueues(4, {{"namespaceSelector", nullptr}});
         w.PutWorkload("w", 4);
       },
       [](W w) { w.PutClusterQueue("cq", 4); }},
      {"queueing-strategy", kActive,
       [](W w) {
         w.PutQueues(4, {{"queueingStrategy", "StrictFIFO"}});
         w.PutWorkload("a", 9);
         w.Run(3s);
         w.PutWorkload("w", 4);
       },
       [](W w) { w.PutClusterQueue("cq", 4); }},
      {"preemption", kParked,
       [](W w) {
         w.WaitForQuota(4, Json::object(), {{"priority", 1}}, {{"priority", 2}});
       },
       [](W w) { w.PutClusterQueue("cq", 4, Preempting()); }},
      {"reclaim-within-cohort", kParked, [](W w) { w.LendToA(); },
       [](W w) {
         w.PutMember("owner", 4, {{"preemption", {{"reclaimWithinCohort", "Any"}}}});
       }},
      {"admission-checks", kActive,
       [](W w) {
         w.PutQueues(4, Checked());
         w.PutWorkload("w", 4);
       },
       [](W w) { w.PutClusterQueue("cq", 4); }},
      {"fair-sharing-weight", kParked,
       [](W w) {
         WaitForShare(w, {{"fairSharing", {{"weight", "100m"}}}});
       },
       [](W w) {
         w.PutMember("owner", 0, {{"preemption", {{"reclaimWithinCohort", "Any"}}}});
       },
       ShareFairly},
  };
}

void WaitInOrg(WakesWorld& world) {
  world.PutOrg(2, 0);
  world.PutWorkload("w", 4, {{"queueName", "owner"}});
}
// `a` borrows from "org" through the Cohort "sub" of its queue.
void LendToSub(WakesWorld& world) {
  world.Put("cohorts", "sub", {{"parentName", "org"}});
  world.PutOrg(4, 0);
  world.PutMember("borrower", 0, Json::object(), "sub");
  world.PutWorkload("a", 4, {{"queueName", "borrower"}});
  world.Run(3s);
  world.PutWorkload("w", 4, {{"queueName", "owner"}});
}

std::vector<WakeRow> OfCohorts() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"cohort-created", kParked, WaitInOrg, [](W w) { w.PutCohort("org", 2); }},
      {"cohort-quota", kParked,
       [](W w) {
         w.PutCohort("org", 1);
         WaitInOrg(w);
       },
       [](W w) { w.PutCohort("org", 2); }},
      {"cohort-limit", kParked,
       [](W w) {
         Json limited = Limited(0, "borrowingLimit", 0);
         limited["parentName"] = "top";
         w.PutCohort("top", 4);
         w.Put("cohorts", "org", limited);
         WaitInOrg(w);
       },
       [](W w) {
         w.Put("cohorts", "org", {{"parentName", "top"}});
       }},
      {"cohort-parent", kParked,
       [](W w) {
         w.PutCohort("top", 4);
         WaitInOrg(w);
       },
       [](W w) {
         w.Put("cohorts", "org", {{"parentName", "top"}});
       }},
      {"cohort-of-borrower-leaves", kParked, LendToSub,
       [](W w) {
         w.Put("cohorts", "sub", {{"parentName", "elsewhere"}});
       }},
      {"cohort-of-borrower-deleted", kParked, LendToSub, [](W w) { w.RemoveKueue("cohorts/sub"); }},
      {"cohort-cycle", kParked,
       [](W w) {
         w.Put("cohorts", "org", {{"parentName", "top"}});
         w.Put("cohorts", "top", {{"parentName", "org"}});
         w.PutOrg(4, 0);
         w.PutWorkload("w", 4, {{"queueName", "owner"}});
       },
       [](W w) { w.Put("cohorts", "top", Json::object()); }},
      {"cohort-weight", kParked,
       [](W w) {  // the queue "owner" below the Cohort "small"
         WaitForShare(w, Json::object());
         w.RemoveKueue("namespaces/team/workloads/w");
         w.Put("cohorts", "small", {{"parentName", "org"}, {"fairSharing", {{"weight", "100m"}}}});
         w.PutMember("owner", 0, {{"preemption", {{"reclaimWithinCohort", "Any"}}}}, "small");
         w.Run(3s);
         w.PutWorkload("w", 2, {{"queueName", "owner"}});
       },
       [](W w) {
         w.Put("cohorts", "small", {{"parentName", "org"}});
       },
       ShareFairly},
  };
}

}  // namespace

std::vector<WakeRow> WakesByQueues() {
  std::vector<WakeRow> rows = OfDoors();
  for (const auto& more : {OfClusterQueues(), OfRulesOfQueues(), OfCohorts()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace berth::admission
