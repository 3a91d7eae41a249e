#include "api/codec/shared_parts.h"

namespace berth::api {
namespace {

bool IsUnread(const JsonNode& node) {
  return node.kind == JsonNode::Kind::kArray &&
         (node.key == "args" || node.key == "command" || node.key == "env");
}

}  // namespace

std::string FrameOf(const JsonNode& pod_sets) {
  std::string frame;
  const char* from = pod_sets.text.data();
  const char* const end = from + pod_sets.text.size();
  for (const JsonNode* node = &pod_sets + 1; node < &pod_sets + pod_sets.span;) {
    if (!IsUnread(*node)) {
      ++node;
      continue;
    }
    frame.append(from, node->text.data());
    from = node->text.data() + node->text.size();
    node += node->span;
  }
  frame.append(from, end);
  return frame;
}

}  // namespace berth::api
