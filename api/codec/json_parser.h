// api/codec/json_parser.h — the parser behind json_text.h. Only for its .cc files.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "api/codec/json_text.h"

namespace berth::api {

// Goes over one text, appending nodes. Every function returns false at the first error, and then
// `offset` says where.
class JsonParser {
 public:
  JsonParser(std::string_view text, std::vector<JsonNode>& nodes,
             std::deque<std::string>& unescaped)
      : begin_(text.data()),
        at_(text.data()),
        end_(text.data() + text.size()),
        nodes_(nodes),
        unescaped_(unescaped) {}

  // A value and the blanks before it.
  bool Value(std::string_view key, int depth);
  bool String(std::string_view& out);  // with both quotes
  bool SkipValue();
  // After blanks: takes `c` where it is next.
  bool Take(char c);
  bool AtEnd();  // nothing but blanks is left
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  bool Object(int depth);
  bool Array(int depth);
  bool Number();
  bool Word(std::string_view word, JsonNode::Kind kind);
  bool Digits();
  bool RestOfEscaped(const char* start, std::string_view& out);
  bool Escape(std::string& out);
  bool UnicodeEscape(std::string& out);
  bool Hex4(std::uint32_t& out);
  bool SkipUtf8();
  bool SkipString();
  void SkipBlanks();

  const char* begin_;
  const char* at_;
  const char* end_;
  std::vector<JsonNode>& nodes_;
  std::deque<std::string>& unescaped_;
};

}  // namespace berth::api
