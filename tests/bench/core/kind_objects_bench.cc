// kind_objects_bench — what the informer keeps of an object of a job kind, in bytes beside the
// object's text; the cost of reading a TrainJob, whose pod sets depend on another object, from its
// text: what each look at an unchanged job saves; and a batch/v1 Job as its own type against the
// same Job by a description.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <malloc.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/json_tree.h"
#include "integrations/batch_job.h"
#include "integrations/controller/described_jobs.h"
#include "integrations/described_job.h"
#include "integrations/kind_catalogue.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

using Json = nlohmann::json;

constexpr int kObjects = 10000;
constexpr int kReads = 2000;

Json PodTemplate() {
  Json container = {{"name", "c"},
                    {"image", "registry.example.com/serve:1"},
                    {"resources", {{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}}}},
                    {"ports", {{{"containerPort", 8080}}}}};
  for (int env = 0; env < 12; ++env) {
    container["env"].push_back({{"name", "E" + std::to_string(env)}, {"value", "some value"}});
  }
  return {{"metadata", {{"labels", {{"app", "serve"}}}}},
          {"spec", {{"restartPolicy", "Always"}, {"containers", Json::array({container})}}}};
}

Json ObjectOf(const integrations::KindPtr& kind, int number) {
  const std::string name = "serve-" + std::to_string(number);
  Json object = {{"apiVersion", kind->resource.api_version()},
                 {"kind", kind->kind.kind},
                 {"metadata",
                  {{"name", name},
                   {"namespace", "default"},
                   {"uid", "c05daa4b-8acf-4674-8aa2-" + std::to_string(100000000000 + number)},
                   {"resourceVersion", std::to_string(number)},
                   {"generation", 1},
                   {"labels", {{"app", "serve"}, {"kueue.x-k8s.io/queue-name", "lq"}}}}},
                 {"spec", Json::object()}};
  Json& spec = object["spec"];
  if (kind->kind.kind == "JobSet") {
    spec = {{"suspend", true},
            {"replicatedJobs",
             Json::array({{{"name", "w"},
                           {"replicas", 2},
                           {"template", {{"spec", {{"template", PodTemplate()}}}}}}})}};
  } else if (kind->kind.kind == "TrainJob") {
    spec = {{"suspend", true}, {"runtimeRef", {{"name", "torch"}}}};
  } else if (kind->kind.kind == "LeaderWorkerSet") {
    spec = {{"replicas", 2},
            {"leaderWorkerTemplate", {{"size", 4}, {"workerTemplate", PodTemplate()}}}};
  } else {
    spec = {{"replicas", 2},
            {"selector", {{"matchLabels", {{"app", "serve"}}}}},
            {"template", PodTemplate()}};
  }
  object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
      object.dump();
  object["status"] = {{"replicas", 2}, {"readyReplicas", 2}, {"observedGeneration", 1}};
  return object;
}

void MeasureMemory(const char* framework) {
  const integrations::KindPtr kind = integrations::FindBuiltInKind(framework);
  std::vector<std::shared_ptr<const integrations::DescribedJob>> kept;
  kept.reserve(kObjects);
  const std::size_t text = ObjectOf(kind, 0).dump().size();
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < kObjects; ++i) {
    const Json object = ObjectOf(kind, i);
    auto job = integrations::DecodeDescribedJob(kind, object);
    if (!job) std::abort();
    kept.push_back(std::make_shared<const integrations::DescribedJob>(*std::move(job)));
  }
  const std::size_t each = (mallinfo2().uordblks - before) / kObjects;
  std::printf("%-46s %6zu bytes kept of an object of %5zu\n", framework, each, text);
}

void MeasureReads() {
  const integrations::KindPtr kind = integrations::FindBuiltInKind("trainer.kubeflow.org/trainjob");
  const std::string text = ObjectOf(kind, 0).dump();
  const Json runtime = {
      {"apiVersion", "trainer.kubeflow.org/v1alpha1"},
      {"kind", "ClusterTrainingRuntime"},
      {"metadata", {{"name", "torch"}}},
      {"spec",
       {{"mlPolicy", {{"numNodes", 2}}},
        {"template",
         {{"spec",
           {{"replicatedJobs",
             Json::array({{{"name", "node"},
                           {"template", {{"spec", {{"template", PodTemplate()}}}}}}})}}}}}}}};
  const integrations::ReadObjects reads{std::make_shared<const Json>(runtime), nullptr};
  std::size_t pod_sets = 0;
  const double begin = OwnCpuSeconds();
  for (int i = 0; i < kReads; ++i) {
    const auto view = integrations::ViewOf(kind, api::ParseJsonOrNull(text), reads);
    if (!view || !view->problem.empty()) std::abort();
    pod_sets += view->pod_sets.size();
  }
  const double took = (OwnCpuSeconds() - begin) * 1e6 / kReads;
  if (pod_sets == 0) std::abort();
  std::printf("reading a TrainJob and its runtime: %.1f us, once for each of their changes\n",
              took);
}

// What a description of batch/v1 Job would say.
integrations::KindPtr DescribedBatchJob() {
  return *integrations::ParseKind(Json::parse(R"json({
    "group": "batch", "version": "v1", "kind": "Job", "suspend": "spec.suspend",
    "podSets": [{"name": "'main'", "template": "spec.template",
      "count": "self.spec.?parallelism.orValue(1)"}],
    "active": "self.?status.?active.orValue(0) > 0",
    "ready": "self.?status.?ready.orValue(0) >= self.spec.?parallelism.orValue(1)",
    "finished": [{"condition": "Complete", "succeeded": true},
      {"condition": "Failed", "succeeded": false}]
  })json"));
}

template <typename Read>
void MeasureJob(const char* how, Read read) {
  std::vector<std::invoke_result_t<Read>> kept;
  kept.reserve(kObjects);
  const std::size_t before = mallinfo2().uordblks;
  const double begin = OwnCpuSeconds();
  for (int i = 0; i < kObjects; ++i) kept.push_back(read());
  const double took = (OwnCpuSeconds() - begin) * 1e6 / kObjects;
  const std::size_t each = (mallinfo2().uordblks - before) / kObjects;
  std::printf("a Job %-22s %5.1f us to read and to view, %6zu bytes kept\n", how, took, each);
}

void MeasureJobs() {
  const integrations::KindPtr described = DescribedBatchJob();
  Json object = ObjectOf(described, 0);
  object["spec"] = {{"suspend", true}, {"parallelism", 3}, {"template", PodTemplate()}};
  const std::string text = object.dump();
  MeasureJob("as its own type:", [&text] {
    const Json tree = api::ParseJsonOrNull(text);
    auto job = api::Decode<api::Job>(tree);
    if (!job || integrations::ViewOf(*job).pod_sets.size() != 1) std::abort();
    return std::make_shared<const api::Job>(*std::move(job));
  });
  MeasureJob("by a description:", [&text, &described] {
    const Json tree = api::ParseJsonOrNull(text);
    auto job = integrations::DecodeDescribedJob(described, tree);
    if (!job || job->pod_sets.size() != 1 || !job->problem.empty()) std::abort();
    return std::make_shared<const integrations::DescribedJob>(*std::move(job));
  });
}

}  // namespace
}  // namespace berth::bench

int main() {
  for (const char* framework :
       {"deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset",
        "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob"}) {
    berth::bench::MeasureMemory(framework);
  }
  berth::bench::MeasureReads();
  berth::bench::MeasureJobs();
}
