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
  NodeReader(std::string_view text, const YamlLimits& limits) : events_(text), limits_(limits) {}

  std::vector<YamlNode> Read() {
    std::vector<YamlNode> roots;
    for (;;) {
      const yaml_event_type_t type = events_.Next().type;
      if (type == YAML_STREAM_END_EVENT) return roots;
      if (type != YAML_DOCUMENT_START_EVENT) continue;
      anchors_.clear();
      node_count_ = 0;
      anchored_nodes_ = 0;
      YamlNode root = ReadNode(events_.Next(), 0);
      if (root.kind != YamlNode::Kind::kNull) roots.push_back(std::move(root));
    }
  }

 private:
  struct Anchor {
    YamlNode node;
    std::size_t node_count = 0;
  };

  void Count(std::size_t line, std::size_t nodes) {
    node_count_ += nodes;
    if (node_count_ > limits_.max_nodes) throw YamlProblem{line, "too many values"};
  }

  YamlNode ReadNode(const yaml_event_t& event, std::size_t depth) {
    const std::size_t line = event.start_mark.line;
    if (depth > limits_.max_depth) throw YamlProblem{line, "nested too deep"};
    if (event.type == YAML_ALIAS_EVENT) {
      const auto found = anchors_.find(TextOf(event.data.alias.anchor));
      if (found == anchors_.end()) throw YamlProblem{line, "unknown anchor"};
      Count(line, found->second.node_count);
      return found->second.node;
    }
    const std::size_t before = node_count_;
    Count(line, 1);
    YamlNode node;
    node.line = static_cast<int>(line) + 1;
    node.column = event.start_mark.column + 1;
    const std::string anchor(AnchorOf(event));
    Fill(event, depth, node);
    if (!anchor.empty()) {
      anchored_nodes_ += node_count_ - before;  // nested anchors keep a copy for each level
      if (anchored_nodes_ > limits_.max_nodes) throw YamlProblem{line, "anchors hold too much"};
      anchors_[anchor] = {node, node_count_ - before};
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

  YamlEvents events_;
  const YamlLimits limits_;
  std::map<std::string, Anchor, std::less<>> anchors_;
  std::size_t node_count_ = 0;      // how many the document has, aliases expanded
  std::size_t anchored_nodes_ = 0;  // how many anchors hold: each holds a copy
};

}  // namespace

const YamlNode* YamlNode::Find(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [name](const YamlField& field) {
    return field.name.is_scalar() && field.name.text == name;
  });
  return found == fields.end() ? nullptr : &found->value;
}

Result<std::vector<YamlNode>> ParseYamlNodes(std::string_view text, const YamlLimits& limits) {
  BERTH_CHECK_OK(CheckYamlText(text, limits));
  try {
    return NodeReader(text, limits).Read();
  } catch (const YamlProblem& problem) {
    return ErrorOf(problem);
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalid, std::string("yaml: ") + error.what()};
  }
}

}  // namespace berth::api
