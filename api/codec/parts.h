// api/codec/parts.h — codecs of parts that several kinds share. Only for .cc files of this folder.
#pragma once

#include <vector>

#include "api/codec/reader.h"
#include "api/condition.h"
#include "api/object_meta.h"
#include "api/pod.h"
#include "api/workload.h"

namespace berth::api {

void Read(const Reader& in, ObjectMeta& out);  // `in` is the metadata
void Read(const Reader& in, Condition& out);
void ReadConditions(const Reader& in, std::vector<Condition>& out);
void Read(const Reader& in, LabelSelector& out);
void Read(const Reader& in, Toleration& out);
void Read(const Reader& in, Taint& out);
void Read(const Reader& in, PodSpec& out);
void Read(const Reader& in, PodTemplateFields& out);
void Read(const Reader& in, PodTemplate& out);
void Read(const Reader& in, TopologyAssignment& out);

// Reads a list that equals one in a cache of SharedParts without decoding its items.
template <typename T, typename Cache, typename Fn>
void ReadShared(const Reader& in, Cache SharedParts::*cache, SharedList<T>& out, Fn read) {
  const JsonNode* node = in.present() ? in.node() : nullptr;
  const bool is_list = node != nullptr && node->kind == JsonNode::Kind::kArray;
  Cache* shared = is_list && in.parts() != nullptr ? &(in.parts()->*cache) : nullptr;
  if (shared != nullptr) {
    if (auto known = shared->Find(node->text)) {
      out = *std::move(known);
      return;
    }
  }
  std::vector<T> items;
  in.List(items, read);
  out = std::move(items);
  if (shared != nullptr && in.present()) shared->Keep(node->text, out);  // decoded without an error
}

inline constexpr Words<CheckState, 4> kCheckStateWords{{{"Pending", CheckState::kPending},
                                                        {"Ready", CheckState::kReady},
                                                        {"Retry", CheckState::kRetry},
                                                        {"Rejected", CheckState::kRejected}}};

nlohmann::json QuantityMap(const ResourceAmounts& amounts);

// Sets object[key] unless `value` is empty.
template <typename T>
void SetUnlessEmpty(nlohmann::json& object, const char* key, const T& value) {
  if (!value.empty()) object[key] = value;
}

}  // namespace berth::api
