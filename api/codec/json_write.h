// api/codec/json_write.h — JSON as text, written quickly, from trees and from values one by one.
//
// nlohmann's dump() throws where a text is not UTF-8, which callers of a writer do not expect.
// These functions put U+FFFD in the place of such bytes; all other code writes with these functions
// (tools/checks/banned.py: json-dump).
//
// Threads: pure functions; a JsonPrinter has one user. Units: bytes. Calls itself once for each
// level (json_tree.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

namespace berth::api {

// Appends `value` without blanks: the text of nlohmann's dump() with replaced bytes where a text is
// not UTF-8, in a fifth to a third of its time.
void AppendJson(std::string& out, const nlohmann::json& value);
// Appends `text` as a JSON string, with replaced bytes.
void AppendJsonText(std::string& out, const std::string& text);
// Returns the text that AppendJson appends.
std::string FormatJson(const nlohmann::json& value);

// The text of nlohmann's dump(blanks), one member a line, with replaced bytes.
std::string FormatIndentedJson(const nlohmann::json& value, int blanks = 2);
// The text of members in the order in which they were added. -1 blanks: all on one line.
std::string FormatOrderedJson(const nlohmann::ordered_json& value, int blanks = -1);

// JSON with two blanks of indentation, without a tree: the text of nlohmann's dump(2) where the
// caller writes members in the order of their keys. Every value of an object follows its Key.
class JsonPrinter {
 public:
  void Open(char bracket);  // '{' or '['
  void Close(char bracket);
  void Key(const char* name);
  void Text(const std::string& value);
  void Number(std::int64_t value);
  void Number(std::uint64_t value);
  void Real(double value);
  void Flag(bool value);
  void Null();

  std::string Take() { return std::move(out_); }

 private:
  void Begin();  // begins a value or a member
  void NewLine();

  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true;       // the present object or list is empty so far
  bool after_key_ = false;  // the value of the member is written next
};

}  // namespace berth::api
