#include "api/yaml/yaml_events.h"

#include <array>
#include <cstdio>
#include <new>
#include <stdexcept>

#include "api/yaml/scalar.h"
#include "base/strings.h"

namespace berth::api {
namespace {

// Refuses the first character that YAML forbids in a stream.
Status CheckCharacters(std::string_view text) {
  std::size_t line = 0;
  int column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    at += character.bytes;
    ++column;
    if (character.code == '\n') {
      ++line;
      column = 0;
    }
    if (IsAllowedInStream(character.code)) continue;
    std::array<char, 16> escape{};
    std::snprintf(escape.data(), escape.size(), character.code < 0x100 ? "\\x%02X" : "\\u%04X",
                  static_cast<unsigned>(character.code));
    return ErrorOf({line, "column " + std::to_string(column) +
                              ": control characters are not allowed: write " + escape.data() +
                              " in double quotes"});
  }
  return OkStatus();
}

}  // namespace

Error ErrorOf(const YamlProblem& problem) {
  return Error{ErrorCode::kInvalid,
               "yaml: line " + std::to_string(problem.line + 1) + ": " + problem.text};
}

Status CheckYamlText(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return Error{ErrorCode::kInvalid,
                 "yaml: larger than " + std::to_string(limits.max_bytes) + " bytes"};
  }
  if (!IsValidUtf8(text)) return Error{ErrorCode::kInvalid, "yaml: the text is not UTF-8"};
  return CheckCharacters(text);
}

YamlEvents::YamlEvents(std::string_view text, std::size_t max_documents)
    : max_documents_(max_documents) {
  if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  // libyaml declares bytes as unsigned, and ends the program where there is no address.
  const char* start = text.empty() ? "" : text.data();
  yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(start),
                               text.size());
}

YamlEvents::~YamlEvents() {
  yaml_event_delete(&event_);
  yaml_parser_delete(&parser_);
}

const yaml_event_t& YamlEvents::Next() {
  yaml_event_delete(&event_);
  if (yaml_parser_parse(&parser_, &event_) != 0) {
    if (event_.type == YAML_DOCUMENT_START_EVENT && ++document_count_ > max_documents_) {
      throw std::length_error("more than " + std::to_string(max_documents_) + " documents");
    }
    return event_;
  }
  if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
  throw YamlProblem{parser_.problem_mark.line,
                    parser_.problem != nullptr ? parser_.problem : "the text is not YAML"};
}

void YamlNodeCount::Add(std::size_t line, std::size_t nodes) {
  total_ += nodes;
  if (total_ > max_nodes_) {
    throw YamlProblem{
        line, "more than " + std::to_string(max_nodes_) + " values after aliases are expanded"};
  }
}

void YamlNodeCount::AddCopied(std::size_t line, std::size_t nodes) {
  copied_ += nodes;
  if (copied_ > max_nodes_) {
    throw YamlProblem{line, "anchors hold more than " + std::to_string(max_nodes_) + " values"};
  }
}

std::string_view TextOf(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

std::string_view ScalarOf(const yaml_event_t& event) {
  return {reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length};
}

bool IsPlain(const yaml_event_t& event) {
  return event.data.scalar.tag == nullptr && event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

}  // namespace berth::api
