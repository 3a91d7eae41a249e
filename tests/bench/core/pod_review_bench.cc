// pod_review_bench — the cost of a mutating review of a pod: microseconds of CPU from the text of
// the AdmissionReview to the text of the answer, median of nine rounds. The pod is one that a
// controller creates: two containers, environment, volumes, tolerations.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "integrations/pods/role_hash.h"
#include "tests/bench/support/process.h"
#include "webhook/pod_rules.h"
#include "webhook/review.h"

namespace berth::bench {
namespace {

using Json = nlohmann::json;

constexpr int kRounds = 9;
constexpr int kReviews = 2000;

std::string ReviewText(const char* queue) {
  Json pod = Json::parse(R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "worker-0", "namespace": "team", "labels": {"app": "train", "role": "worker"},
      "annotations": {"kueue.x-k8s.io/pod-group-total-count": "8"},
      "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Train", "name": "t", "uid": "u",
                           "controller": true}]},
    "spec": {"restartPolicy": "Never", "serviceAccountName": "default", "containers": [],
      "nodeSelector": {"pool": "gpu"}, "priority": 0, "schedulerName": "default-scheduler",
      "volumes": [{"name": "data", "emptyDir": {}},
                  {"name": "token", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt"}}]}}],
      "tolerations": [
        {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists",
         "tolerationSeconds": 300},
        {"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists",
         "tolerationSeconds": 300}]}})");
  for (int i = 0; i < 2; ++i) {
    Json container = {{"name", "c" + std::to_string(i)},
                      {"image", "registry.example.com/train:1"},
                      {"resources", {{"requests", {{"cpu", "4"}, {"nvidia.com/gpu", "1"}}}}},
                      {"volumeMounts", {{{"name", "data"}, {"mountPath", "/data"}}}}};
    for (int env = 0; env < 12; ++env) {
      container["env"].push_back({{"name", "E" + std::to_string(env)}, {"value", "some value"}});
    }
    pod["spec"]["containers"].push_back(std::move(container));
  }
  if (*queue != '\0') pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue;
  pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] = "train";
  return Json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"request", {{"uid", "u"}, {"operation", "CREATE"}, {"object", pod}}}}
      .dump();
}

double MicrosecondsOf(const std::string& text, const webhook::JobReviews& reviews) {
  std::array<double, kRounds> times{};
  std::size_t bytes = 0;
  for (double& time : times) {
    const double begin = OwnCpuSeconds();
    for (int i = 0; i < kReviews; ++i) {
      const Json review = api::ParseJsonOrNull(text);
      const Result<Json> answer = webhook::Review("/mutate--v1-pod", review, reviews);
      bytes += answer ? answer->dump().size() : 0;
    }
    time = (OwnCpuSeconds() - begin) * 1e6 / kReviews;
  }
  if (bytes == 0) std::abort();
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

int Run() {
  const webhook::JobReviews reviews{
      .facts = [](const webhook::ReviewedKind&,
                  const api::ObjectMeta&) { return webhook::JobFacts{}; },
      .kinds = {webhook::PodKind(integrations::RoleHash)}};
  for (const char* queue : {"lq", ""}) {
    const std::string text = ReviewText(queue);
    std::printf("%-12s %5zu bytes %8.1f us\n", *queue == '\0' ? "not queued" : "queued",
                text.size(), MicrosecondsOf(text, reviews));
  }
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main() { return berth::bench::Run(); }
