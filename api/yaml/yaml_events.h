// api/yaml/yaml_events.h — the events of a YAML text: what its parser finds, one after the other.
//
// The parser is libyaml, which Kubernetes' reader is a translation of: both read the same texts and
// name the same mistakes.
//
// Errors: a YamlProblem is thrown. Only the sources of api/yaml/ include this header, and none of
// them lets the exception pass. Threads: one for each object.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <yaml.h>

#include "api/yaml/yaml.h"
#include "base/result.h"

namespace berth::api {

struct YamlProblem {
  std::size_t line;  // from 0
  std::string text;
};

// The error that a caller of api/yaml/ gets.
Error ErrorOf(const YamlProblem& problem);

// Refuses a text that is too large, is not UTF-8 or has characters that YAML forbids.
Status CheckYamlText(std::string_view text, const YamlLimits& limits);

class YamlEvents {
 public:
  // `text` must outlive this object.
  YamlEvents(std::string_view text, std::size_t max_documents);
  ~YamlEvents();
  YamlEvents(const YamlEvents&) = delete;
  YamlEvents& operator=(const YamlEvents&) = delete;

  // The next event, valid until the next call. Precondition: the last one did not end the stream.
  const yaml_event_t& Next();

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  const std::size_t max_documents_;
  std::size_t document_count_ = 0;
};

// The result of read(YamlEvents&), which may throw, for a text within the limits.
template <typename Read>
auto ReadYaml(std::string_view text, const YamlLimits& limits, Read read)
    -> Result<decltype(read(std::declval<YamlEvents&>()))> {
  BERTH_CHECK_OK(CheckYamlText(text, limits));
  try {
    YamlEvents events(text, limits.max_documents);
    return read(events);
  } catch (const YamlProblem& problem) {
    return ErrorOf(problem);
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalid, std::string("yaml: ") + error.what()};
  }
}

// The nodes of one document, and their limit.
class YamlNodeCount {
 public:
  explicit YamlNodeCount(const YamlLimits& limits) : max_nodes_(limits.max_nodes) {}

  void Add(std::size_t line, std::size_t nodes);
  // The anchor at the line keeps a copy of so many nodes; nested anchors keep one for each level.
  void AddCopied(std::size_t line, std::size_t nodes);
  std::size_t total() const { return total_; }  // after aliases are expanded

 private:
  std::size_t max_nodes_;
  std::size_t total_ = 0;
  std::size_t copied_ = 0;
};

// The text of a field of an event; "" for none.
std::string_view TextOf(const yaml_char_t* text);
std::string_view ScalarOf(const yaml_event_t& event);
// Whether a scalar stands without quotes and without a tag: its text alone says what it is.
bool IsPlain(const yaml_event_t& event);

}  // namespace berth::api
