// Targets of the controller's inputs: webhooks, its Configuration, kubeconfigs, annotations.
#include <array>

#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration.h"
#include "admission/controller/notes/plan_json.h"
#include "api/codec/json_tree.h"
#include "api/yaml/yaml.h"
#include "kube/client/kubeconfig.h"
#include "tests/fuzz/targets.h"
#include "webhook/version_conversion.h"
#include "webhook/webhook_server.h"

namespace berth::fuzz {
namespace {

using Json = nlohmann::json;

net::Response Ask(std::string_view path, std::string_view body) {
  net::Request request;
  request.method = "POST";
  request.target = std::string(path);
  request.headers.Add("Content-Type", "application/json");
  request.body = std::string(body);
  return webhook::AnswerWebhook(
      request,
      {.facts = [](const webhook::ReviewedKind&,
                   const api::ObjectMeta&) { return webhook::JobFacts{}; }},
      {.priority_boost = true});
}

}  // namespace

void Conversion(std::string_view text) {
  const net::Response answer = Ask("/convert", text);
  if (answer.status == 200) {
    Require(api::ParseJson(answer.body, {.max_depth = 300}).has_value(), "an answer is JSON");
  }
  const Result<Json> object = api::ParseJson(text);
  if (!object) return;
  for (const char* version : {"kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"}) {
    const Result<Json> converted = webhook::Convert(*object, version);
    if (converted) Require((*converted)["apiVersion"] == version, "an object is converted");
  }
}

void Reviews(std::string_view text) {
  if (text.empty()) return;
  static const std::vector<std::string_view> paths = webhook::ReviewPaths();
  const std::string_view path = paths[static_cast<unsigned char>(text.front()) % paths.size()];
  text.remove_prefix(1);
  const net::Response answer = Ask(path, text);
  Require(answer.status == 200 || answer.status == 400, "a review is answered");
  if (answer.status == 200) {
    const Result<Json> json = api::ParseJson(answer.body);
    Require(json && json->contains("response"), "an answer is a review");
  }
}

void Configurations(std::string_view text) {
  const auto document = api::ParseYaml(text, {.max_bytes = 65536, .max_nodes = 20'000});
  if (document) (void)admission::ReadConfiguration(document->value);
}

void KubeConfigs(std::string_view text) {
  // Files that a kubeconfig names do not exist.
  const auto config = kube::ParseKubeConfig(text, "/nowhere", "");
  if (config) Require(!config->server.empty(), "a kubeconfig names a server");
}

// The annotation berth.dev/preemption-plan, which tenants may write.
void Plans(std::string_view text) {
  const auto plan = admission::DecodePlan(text);
  if (!plan) return;
  Require(plan->victims.size() <= admission::KeptPlan::kMostVictims, "a plan has few victims");
  const std::string written = admission::EncodePlan(*plan);
  // Times are cut to seconds; the other fields of a plan without pod sets are not written.
  const auto again = admission::DecodePlan(written);
  Require(written.size() > admission::kMaxPlanBytes || again.has_value(), "a plan is read again");
  if (again) Require(admission::EncodePlan(*again) == written, "a plan reads as it is written");
}

}  // namespace berth::fuzz
