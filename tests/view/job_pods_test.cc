// Goal: the pods of every kind of job are found by the labels that its operator sets.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "view/screens/pods_of_job.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

struct Row {
  const char* reference;
  const char* list;
  const char* selector;
  Json job = {};
};

TEST(JobPods, EachKindOfJobHasItsPathAndPodSelector) {
  const Row rows[] = {
      {"job/a", "/apis/batch/v1/namespaces/x/jobs", "batch.kubernetes.io/job-name=a"},
      {"Jobs.batch/a", "/apis/batch/v1/namespaces/x/jobs", "batch.kubernetes.io/job-name=a"},
      {"jobset/a", "/apis/jobset.x-k8s.io/v1alpha2/namespaces/x/jobsets",
       "jobset.sigs.k8s.io/jobset-name=a"},
      {"trainjob/a", "/apis/trainer.kubeflow.org/v1alpha1/namespaces/x/trainjobs",
       "jobset.sigs.k8s.io/jobset-name=a"},
      {"mpijob/a", "/apis/kubeflow.org/v2beta1/namespaces/x/mpijobs",
       "training.kubeflow.org/job-name=a,training.kubeflow.org/operator-name=mpi-operator"},
      {"pytorchjobs.kubeflow.org/a", "/apis/kubeflow.org/v1/namespaces/x/pytorchjobs",
       "training.kubeflow.org/job-name=a,training.kubeflow.org/"
       "operator-name=pytorchjob-controller"},
      {"raycluster/a", "/apis/ray.io/v1/namespaces/x/rayclusters", "ray.io/cluster=a"},
      {"rayjob/a",
       "/apis/ray.io/v1/namespaces/x/rayjobs",
       "ray.io/cluster=a-b2",
       {{"status", {{"rayClusterName", "a-b2"}}}}},
      {"rayjob/a", "/apis/ray.io/v1/namespaces/x/rayjobs", ""},
      {"rayservice/a",
       "/apis/ray.io/v1/namespaces/x/rayservices",
       "ray.io/cluster=c",
       {{"status", {{"activeServiceStatus", {{"rayClusterName", "c"}}}}}}},
      {"sparkapp/a", "/apis/sparkoperator.k8s.io/v1beta2/namespaces/x/sparkapplications",
       "sparkoperator.k8s.io/app-name=a"},
      {"po/a",
       "/api/v1/namespaces/x/pods",
       "kueue.x-k8s.io/pod-group-name=g",
       {{"metadata", {{"labels", {{"kueue.x-k8s.io/pod-group-name", "g"}}}}}}},
      {"pod/a", "/api/v1/namespaces/x/pods", ""},
  };
  for (const Row& row : rows) {
    const auto reference = ParseJobReference(row.reference);
    ASSERT_TRUE(reference) << row.reference;
    EXPECT_EQ(reference->ListPath("x"), row.list);
    EXPECT_EQ(PodSelectorOf(*reference, row.job), row.selector) << row.reference;
  }
  EXPECT_EQ(ParseJobReference("job/a")->ListPath(""), "/apis/batch/v1/jobs");
}

TEST(JobPods, PodsOfOtherJobsOfTheSameNameAreTold) {
  api::Workload workload;
  workload.meta.namespace_name = "x";
  workload.meta.name = "w";
  const auto owned = [&workload](const char* version, const char* kind) {
    workload.meta.owner_references = {
        {.api_version = version, .kind = kind, .name = "a", .uid = "u", .controller = true}};
    return PodMarksOf(workload);
  };
  const auto labelled = [](std::map<std::string, std::string> labels) {
    return PodView{.namespace_name = "x", .name = "p", .job_labels = std::move(labels)};
  };
  const PodView of_torch =
      labelled({{"training.kubeflow.org/job-name", "a"},
                {"training.kubeflow.org/operator-name", "pytorchjob-controller"}});
  EXPECT_TRUE(IsPodOf(of_torch, workload, owned("kubeflow.org/v1", "PyTorchJob")));
  EXPECT_FALSE(IsPodOf(of_torch, workload, owned("kubeflow.org/v1", "TFJob")));
  EXPECT_FALSE(IsPodOf(of_torch, workload, owned("ray.io/v1", "RayJob"))) << "no label tells";
  EXPECT_FALSE(IsPodOf(of_torch, workload, owned("batch/v1", "Job")));
  EXPECT_FALSE(IsPodOf({.namespace_name = "x", .name = "p", .job_name = "a"}, workload,
                       owned("ray.io/v1", "RayJob")))
      << "the Job that submits it is on one node, the job on others";
  EXPECT_TRUE(IsPodOf({.namespace_name = "x", .name = "p", .job_name = "a"}, workload,
                      owned("example.com/v1", "Foreign")));
  EXPECT_TRUE(IsPodOf({.namespace_name = "x", .name = "p", .job_name = "a"}, workload,
                      owned("batch/v1", "Job")));
  EXPECT_FALSE(IsPodOf({.namespace_name = "y", .name = "p", .job_name = "a"}, workload,
                       owned("batch/v1", "Job")));
  EXPECT_TRUE(IsPodOf({.namespace_name = "x", .name = "a"}, workload, owned("v1", "Pod")));
  EXPECT_TRUE(IsPodOf({.namespace_name = "x", .name = "p", .workload = "w"}, workload,
                      owned("example.com/v1", "Foreign")));
  workload.meta.owner_references.clear();
  EXPECT_TRUE(
      IsPodOf({.namespace_name = "x", .name = "p", .group = "w"}, workload, PodMarksOf(workload)));
}

TEST(JobPods, WrongReferenceIsRefusedWithTheForm) {
  for (const char* bad : {"", "a", "job/", "/a", "deployment/a", "job.apps/a"}) {
    const auto reference = ParseJobReference(bad);
    ASSERT_FALSE(reference) << bad;
    EXPECT_EQ(reference.error().code, ErrorCode::kInvalid);
    EXPECT_NE(reference.error().message.find("TYPE[.GROUP]/NAME"), std::string::npos);
  }
}

TEST(JobPods, RendersATableOfTheServer) {
  const Json table = Json::parse(R"({"columnDefinitions": [
      {"name": "Name", "priority": 0}, {"name": "Restarts", "priority": 0},
      {"name": "IP", "priority": 1}, {"name": "Age"}],
    "rows": [{"cells": ["a-0", 2, "10.0.0.1", "5m"],
              "object": {"metadata": {"namespace": "x"}}}, {"cells": ["a-1"]}]})");
  const TextStyle style;
  EXPECT_EQ(RenderServerTable(table, false, style),
            "NAME  RESTARTS  AGE\n"
            "a-0   2         5m\n"
            "a-1\n");
  EXPECT_EQ(RenderServerTable(table, true, style).substr(0, 9), "NAMESPACE");
  EXPECT_EQ(RenderServerTable(Json::object(), false, style), "No resources found\n");
}

}  // namespace
}  // namespace berth::view
