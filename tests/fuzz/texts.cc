// Targets of texts: JSON by both readers, YAML, the codec of every kind.
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/json_text.h"
#include "api/codec/json_tree.h"
#include "api/codec/karpenter.h"
#include "api/codec/limits.h"
#include "api/codec/node_meters.h"
#include "api/codec/provisioning_policy.h"
#include "api/codec/slice_constraints.h"
#include "api/codec/spend_memory.h"
#include "api/codec/stock_memory.h"
#include "api/yaml/yaml.h"
#include "api/yaml/yaml_nodes.h"
#include "tests/fuzz/targets.h"

namespace berth::fuzz {
namespace {

using Json = nlohmann::json;

template <typename... Kinds>
void DecodeEach(const api::JsonSource& source) {
  ((void)api::Decode<Kinds>(source), ...);
}

void DecodeAll(const api::JsonSource& source) {
  DecodeEach<api::AdmissionCheck, api::ClusterQueue, api::Cohort, api::Job, api::LimitRange,
             api::LocalQueue, api::Node, api::Pod, api::PodTemplateObject, api::ProvisioningPolicy,
             api::ProvisioningRequest, api::ResourceFlavor, api::RuntimeClass, api::Topology,
             api::KarpenterNodePool, api::KarpenterNodeClaim, api::ToldEvent>(source);
}

void WriteAgain(const api::Workload& workload) {
  Json object = api::Encode(workload);
  object["status"] = api::Encode(workload.status);
  (void)object.dump();
  Require(api::Decode<api::Workload>(object).has_value(), "a Workload that was written is read");
}

}  // namespace

void JsonText(std::string_view text) {
  std::vector<std::string> duplicates;
  const Result<Json> tree = api::ParseJson(text, {}, &duplicates);
  api::JsonText flat;
  const Result<const api::JsonNode*> nodes = flat.Parse(text);
  // The flat reader skips metadata.managedFields of an object unread; inside an array it reads all.
  const bool may_skip = nodes && (*nodes)->kind == api::JsonNode::Kind::kObject;
  const std::string wrapped = may_skip ? "[" + std::string(text) + "]" : "";
  if (may_skip ? flat.Parse(wrapped).has_value() : nodes.has_value()) {
    Require(tree.has_value(), "what the flat reader takes the tree reader takes");
  }
  if (!tree) return;
  Require(api::MeasureJson(*tree).depth <= api::JsonLimits().max_depth, "depth is bounded");
  const std::string written = tree->dump();
  const Result<Json> again = api::ParseJson(written);
  Require(again && *again == *tree, "a tree reads as it is written");
  (void)api::JsonText().ReadList(text, [](const api::JsonNode& item) { DecodeAll(item); });
}

void Objects(std::string_view text) {
  (void)api::ParseSliceConstraints(std::string(text));
  if (const auto memory = api::DecodeMemory(text)) {
    const std::string written = api::EncodeMemory(*memory);
    const auto again = api::DecodeMemory(written);
    Require(again && api::EncodeMemory(*again) == written, "a memory reads as it is written");
  }
  if (const auto stock = api::DecodeStock(text)) {
    const std::string written = api::EncodeStock(*stock);
    const auto again = api::DecodeStock(written);
    Require(again && api::EncodeStock(*again) == written, "a stock reads as it is written");
  }
  if (const auto meters = api::DecodeMeters(text)) {
    const std::string written = api::EncodeMeters(*meters);
    const auto again = api::DecodeMeters(written);
    Require(again && api::EncodeMeters(*again) == written, "meters read as they are written");
  }
  if (const auto spend = api::DecodeSpend(text)) {
    const std::string written = api::EncodeSpend(*spend);
    const auto again = api::DecodeSpend(written);
    Require(again && api::EncodeSpend(*again) == written, "a spend memory reads as it is written");
  }
  const Result<Json> tree = api::ParseJson(text);
  if (!tree) return;
  DecodeAll(*tree);
  const Result<api::Workload> workload = api::Decode<api::Workload>(*tree);
  if (workload) WriteAgain(*workload);
  api::JsonText flat;
  const Result<const api::JsonNode*> nodes = flat.Parse(text);
  if (!nodes) return;
  DecodeAll(**nodes);
  const Result<api::Workload> same = api::Decode<api::Workload>(**nodes);
  // If two keys are equal, both readers take the last; managedFields is left out of the flat one.
  if (same && workload) {
    Require(api::Encode(same->status) == api::Encode(workload->status),
            "both readers read the same status");
  }
}

void Yaml(std::string_view text) {
  const api::YamlLimits limits{.max_bytes = 65536, .max_nodes = 20'000};
  const auto documents = api::ParseYamlStream(text, limits);
  const auto nodes = api::ParseYamlNodes(text, limits);
  if (!documents) return;
  Require(nodes && nodes->size() == documents->size(), "both readers read the same documents");
  for (const api::YamlDocument& document : *documents) {
    Require(api::MeasureJson(document.value).depth <= api::YamlLimits().max_depth,
            "depth is bounded");
    const auto again = api::ParseYaml(api::FormatYaml(document.value));
    Require(again && again->value == document.value, "a document reads as it is written");
  }
}

}  // namespace berth::fuzz
