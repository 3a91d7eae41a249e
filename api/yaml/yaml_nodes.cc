#include "api/yaml/yaml_nodes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/yaml/scalar.h"
#include "api/yaml/yaml_events.h"

namespace berth::api {
namespace {

class NodeReader {
 public:
  NodeReader(YamlEvents& events, const YamlLimits& limits)
      : events_(events), limits_(limits), count_(limits) {}

  std::vector<YamlNode> Read() {
    std::vector<YamlNode> roots;
    for (;;) {
      const yaml_event_type_t type = events_.Next().type;
      if (type == YAML_STREAM_END_EVENT) return roots;
      if (type != YAML_DOCUMENT_START_EVENT) continue;
      anchors_.clear();
      count_ = YamlNodeCount(limits_);
      YamlNode root = ReadNode(events_.Next(), 0);
      if (root.kind != YamlNode::Kind::kNull) roots.push_back(std::move(root));
    }
  }

 private:
  struct Anchor {
    YamlNode node;
    std::size_t node_count = 0;
  };

  YamlNode ReadNode(const yaml_event_t& event, std::size_t depth) {
    const std::size_t line = event.start_mark.line;
    if (depth > limits_.max_depth) throw YamlProblem{line, "nested too deep"};
    if (event.type == YAML_ALIAS_EVENT) {
      const auto found = anchors_.find(TextOf(event.data.alias.anchor));
      if (found == anchors_.end()) throw YamlProblem{line, "unknown anchor"};
      count_.Add(line, found->second.node_count);
      return found->second.node;
    }
    const std::size_t before = count_.total();
    count_.Add(line, 1);
    YamlNode node;
    node.line = static_cast<int>(line) + 1;
    node.column = event.start_mark.column + 1;
    const std::string anchor(AnchorOf(event));
    Fill(event, depth, node);
    if (!anchor.empty()) {
      const std::size_t nodes = count_.total() - before;
      count_.AddCopied(line, nodes);
      anchors_[anchor] = {node, nodes};
    }
    return node;
  }

  static std::string_view AnchorOf(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_SCALAR_EVENT: return TextOf(event.data.scalar.anchor);
      case YAML_SEQUENCE_START_EVENT: return TextOf(event.data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT: return TextOf(event.data.mapping_start.anchor);
      default: return "";
    }
  }

  // Reads the events of the node, up to its end.
  void Fill(const yaml_event_t& event, std::size_t depth, YamlNode& node) {
    if (event.type == YAML_SCALAR_EVENT) {
      node.text = ScalarOf(event);
      const bool is_null = (IsPlain(event) || TextOf(event.data.scalar.tag) == YAML_NULL_TAG) &&
                           ResolvePlainScalar(node.text) == nlohmann::json();
      node.kind = is_null ? YamlNode::Kind::kNull : YamlNode::Kind::kScalar;
    } else if (event.type == YAML_SEQUENCE_START_EVENT) {
      node.kind = YamlNode::Kind::kSequence;
      for (;;) {
        const yaml_event_t& next = events_.Next();
        if (next.type == YAML_SEQUENCE_END_EVENT) return;
        node.items.push_back(ReadNode(next, depth + 1));
      }
    } else {
      node.kind = YamlNode::Kind::kMap;
      for (;;) {
        const yaml_event_t& next = events_.Next();
        if (next.type == YAML_MAPPING_END_EVENT) return;
        YamlNode name = ReadNode(next, depth + 1);
        YamlNode value = ReadNode(events_.Next(), depth + 1);
        node.fields.push_back({std::move(name), std::move(value)});
      }
    }
  }

  YamlEvents& events_;
  const YamlLimits limits_;
  YamlNodeCount count_;
  std::map<std::string, Anchor, std::less<>> anchors_;
};

}  // namespace

const YamlNode* YamlNode::Find(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [name](const YamlField& field) {
    return field.name.is_scalar() && field.name.text == name;
  });
  return found == fields.end() ? nullptr : &found->value;
}

Result<std::vector<YamlNode>> ParseYamlNodes(std::string_view text, const YamlLimits& limits) {
  return ReadYaml(text, limits,
                  [&limits](YamlEvents& events) { return NodeReader(events, limits).Read(); });
}

}  // namespace berth::api
