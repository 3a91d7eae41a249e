#include "api/codec/codec.h"
#include "api/codec/parts.h"
#include "api/codec/shared_parts.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

constexpr Words<ConditionStatus, 3> kStatusWords{{{"True", ConditionStatus::kTrue},
                                                  {"False", ConditionStatus::kFalse},
                                                  {"Unknown", ConditionStatus::kUnknown}}};

void ReadOwner(const Reader& in, OwnerReference& out) {
  in.Field("apiVersion").Get(out.api_version);
  in.Field("kind").Get(out.kind);
  in.Field("name").Get(out.name);
  in.Field("uid").Get(out.uid);
  in.Field("controller").Get(out.controller);
  in.Field("blockOwnerDeletion").Get(out.block_owner_deletion);
}

void ReadIdentity(const Reader& in, ObjectMeta& out) {
  in.Field("namespace").Get(out.namespace_name);
  in.Field("name").Get(out.name);
  in.Field("uid").Get(out.uid);
  in.Field("resourceVersion").Get(out.resource_version);
}

Json EncodeOwner(const OwnerReference& owner) {
  Json json = {{"apiVersion", owner.api_version},
               {"kind", owner.kind},
               {"name", owner.name},
               {"uid", owner.uid}};
  if (owner.controller) json["controller"] = true;
  if (owner.block_owner_deletion) json["blockOwnerDeletion"] = true;
  return json;
}

}  // namespace

void Read(const Reader& in, ObjectMeta& out) {
  ReadIdentity(in, out);
  in.Field("generation").Get(out.generation);
  in.Field("creationTimestamp").Get(out.creation_timestamp);
  in.Field("deletionTimestamp").Get(out.deletion_timestamp);
  in.Field("labels").Get(out.labels);
  in.Field("annotations").Get(out.annotations);
  ReadShared(in.Field("finalizers"), &SharedParts::finalizers, out.finalizers,
             [](const Reader& item, std::string& name) { item.Get(name); });
  in.Field("ownerReferences").List(out.owner_references, ReadOwner);
}

void Read(const Reader& in, Condition& out) {
  in.Field("type").Get(out.type);
  in.Field("status").Get(out.status, kStatusWords);
  in.Field("reason").Get(out.reason);
  in.Field("message").Get(out.message);
  in.Field("lastTransitionTime").Get(out.last_transition_time);
  in.Field("observedGeneration").Get(out.observed_generation);
}

void ReadConditions(const Reader& in, std::vector<Condition>& out) {
  in.List(out, [](const Reader& item, Condition& condition) { Read(item, condition); });
}

void Read(const Reader& in, LabelSelector& out) {
  in.Field("matchLabels").Get(out.match_labels);
  in.Field("matchExpressions")
      .List(out.match_expressions, [](const Reader& item, LabelSelectorRequirement& requirement) {
        item.Field("key").Get(requirement.key);
        item.Field("operator").Get(requirement.op);
        item.Field("values").Get(requirement.values);
      });
}

template <>
Result<ObjectMeta> Decode<ObjectMeta>(const JsonSource& object) {
  return ReadAs<ObjectMeta>(
      object, [](const Reader& in, ObjectMeta& out) { Read(in.Field("metadata"), out); });
}

Result<ObjectMeta> DecodeIdentity(const JsonSource& object) {
  return ReadAs<ObjectMeta>(object, [](const Reader& in, ObjectMeta& out) {
    const Reader metadata = in.Field("metadata");
    ReadIdentity(metadata, out);
    if (out.name.empty()) metadata.Fail("the name is missing");
  });
}

template <>
Result<Namespace> Decode<Namespace>(const JsonSource& object) {
  return ReadAs<Namespace>(object, [](const Reader& in, Namespace& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader status = in.Field("status");
    std::string phase;
    status.Field("phase").Get(phase);
    out.terminating = phase == "Terminating" || out.meta.deletion_timestamp.has_value();
  });
}

template <>
Result<PriorityClass> Decode<PriorityClass>(const JsonSource& object) {
  return ReadAs<PriorityClass>(object, [](const Reader& in, PriorityClass& out) {
    Read(in.Field("metadata"), out.meta);
    in.Field("value").Get(out.value);
    in.Field("globalDefault").Get(out.global_default);
  });
}

template <>
Result<WorkloadPriorityClass> Decode<WorkloadPriorityClass>(const JsonSource& object) {
  BERTH_TRY(PriorityClass decoded, Decode<PriorityClass>(object));
  return WorkloadPriorityClass{std::move(decoded)};
}

Json Encode(const ObjectMeta& meta) {
  Json json = {{"name", meta.name}};
  SetUnlessEmpty(json, "namespace", meta.namespace_name);
  SetUnlessEmpty(json, "labels", meta.labels);
  SetUnlessEmpty(json, "annotations", meta.annotations);
  SetUnlessEmpty(json, "finalizers", meta.finalizers);
  for (const OwnerReference& owner : meta.owner_references) {
    json["ownerReferences"].push_back(EncodeOwner(owner));
  }
  return json;
}

Json Encode(const Condition& condition) {
  Json json = {{"type", condition.type},
               {"status", WordOf(condition.status, kStatusWords)},
               {"reason", condition.reason},
               {"message", condition.message},
               {"lastTransitionTime", FormatTime(condition.last_transition_time)}};
  if (condition.observed_generation != 0) {
    json["observedGeneration"] = condition.observed_generation;
  }
  return json;
}

Json Encode(const std::vector<Condition>& conditions) {
  Json json = Json::array();
  for (const Condition& condition : conditions) json.push_back(Encode(condition));
  return json;
}

}  // namespace berth::api
