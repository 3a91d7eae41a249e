// Goal: reviews see queues, classes, namespaces and managed parents as they come and go.
#include "webhook/controller/facts_mirror.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"
#include "webhook/batch_job_rules.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

TEST(FactsMirrorTest, FollowsQueuesClassesAndOwners) {
  FakeClock clock;
  SimExecutor executor(clock);
  kube::RegistryTransport api(executor, clock);
  kube::ApiClient client(api, executor);
  kube::Manager manager(client, executor);
  FactsMirror mirror(
      manager, {.namespace_selector = {.match_expressions = {{.key = "kubernetes.io/metadata.name",
                                                              .op = "NotIn",
                                                              .values = {"kube-system"}}}}});
  const FactsMirror without_classes(manager, {.default_priority_class = false});
  manager.StartInformers();
  executor.RunFor(1s);

  api::Job job;
  job.meta.namespace_name = "team-a";
  EXPECT_FALSE(mirror.Of(BatchJobKind(), job.meta).default_local_queue);
  EXPECT_TRUE(mirror.Of(BatchJobKind(), job.meta).namespace_managed);

  const std::string queues = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues";
  api.Put(queues, {{"metadata", {{"name", "default"}, {"namespace", "team-a"}}},
                   {"spec", {{"clusterQueue", "cq"}}}});
  api.Put("/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses",
          {{"metadata", {{"name", "default"}}}, {"value", 3}});
  api::ObjectMeta parent;
  parent.uid = "u-1";
  parent.labels["kueue.x-k8s.io/queue-name"] = "lq";
  mirror.TakeJob(parent, true);
  executor.RunFor(1s);
  EXPECT_TRUE(mirror.Of(BatchJobKind(), job.meta).default_local_queue);
  EXPECT_TRUE(mirror.Of(BatchJobKind(), job.meta).default_priority_class);
  EXPECT_FALSE(without_classes.Of(BatchJobKind(), job.meta).default_priority_class);
  EXPECT_FALSE(mirror.Of(BatchJobKind(), job.meta).ancestor_managed);
  job.meta.owner_references = {{.kind = "Job", .name = "parent", .uid = "u-1", .controller = true}};
  EXPECT_TRUE(mirror.Of(BatchJobKind(), job.meta).ancestor_managed);
  mirror.TakeJob(parent, false);
  EXPECT_FALSE(mirror.Of(BatchJobKind(), job.meta).ancestor_managed);
  job.meta.namespace_name = "team-b";
  EXPECT_FALSE(mirror.Of(BatchJobKind(), job.meta).default_local_queue);
  job.meta.namespace_name = "kube-system";
  EXPECT_FALSE(mirror.Of(BatchJobKind(), job.meta).namespace_managed);

  api.Remove(queues + "/default");
  executor.RunFor(1s);
  job.meta.namespace_name = "team-a";
  EXPECT_FALSE(mirror.Of(BatchJobKind(), job.meta).default_local_queue);
}

// The pods of a job and of the cluster that it makes name both, since these have one name.
TEST(FactsMirrorTest, KnowsThePodsOfHeldJobs) {
  FakeClock clock;
  SimExecutor executor(clock);
  kube::RegistryTransport api(executor, clock);
  kube::ApiClient client(api, executor);
  kube::Manager manager(client, executor);
  FactsMirror mirror(manager, {.pod_labels = {"example.com/cluster"}});
  api::ObjectMeta job{.namespace_name = "a", .name = "c", .uid = "u-1"};
  job.annotations["kueue.x-k8s.io/pod-suspending-parent"] = "example.com/job";
  api::ObjectMeta cluster = job;
  cluster.uid = "u-2";
  api::ObjectMeta pod{.namespace_name = "a", .name = "p"};
  const auto holder = [&] { return mirror.Of(BatchJobKind(), pod).held_by; };
  mirror.TakeJob(job, true);
  EXPECT_EQ(holder(), "");
  pod.labels["example.com/cluster"] = "c";
  EXPECT_EQ(holder(), "example.com/job");
  mirror.TakeJob(cluster, true);
  mirror.TakeJob(cluster, false);
  EXPECT_EQ(holder(), "example.com/job");
  pod.namespace_name = "b";
  EXPECT_EQ(holder(), "");
  pod.namespace_name = "a";
  mirror.TakeJob(job, false);
  EXPECT_EQ(holder(), "");
  job.annotations.clear();
  mirror.TakeJob(job, true);
  EXPECT_EQ(holder(), "");
}

}  // namespace
}  // namespace berth::webhook
