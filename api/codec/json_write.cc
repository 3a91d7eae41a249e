#include "api/codec/json_write.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <nlohmann/json.hpp>

namespace berth::api {
namespace {

using Json = nlohmann::json;

// Any tree of nlohmann's.
template <typename Tree>
std::string DumpReplaced(const Tree& value, int blanks = -1) {
  // allow json-dump: replaces bad bytes
  return value.dump(blanks, ' ', false, Tree::error_handler_t::replace);
}

// Whether the character stands for itself: no quote, escape or control character, and ASCII.
bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

template <typename Number>
void AppendNumber(std::string& out, Number number) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out.append(text.data(), end);
}

void AppendObject(std::string& out, const Json::object_t& object) {
  char separator = '{';
  for (const auto& [key, member] : object) {
    out.push_back(separator);
    separator = ',';
    AppendJsonText(out, key);
    out.push_back(':');
    AppendJson(out, member);
  }
  out += object.empty() ? "{}" : "}";
}

void AppendArray(std::string& out, const Json::array_t& array) {
  char separator = '[';
  for (const Json& item : array) {
    out.push_back(separator);
    separator = ',';
    AppendJson(out, item);
  }
  out += array.empty() ? "[]" : "]";
}

}  // namespace

void AppendJsonText(std::string& out, const std::string& text) {
  if (!std::all_of(text.begin(), text.end(), IsPlain)) {
    out += DumpReplaced(Json(text));
    return;
  }
  out.push_back('"');
  out += text;
  out.push_back('"');
}

void AppendJson(std::string& out, const Json& value) {
  using Kind = Json::value_t;
  switch (value.type()) {
    case Kind::object: AppendObject(out, value.get_ref<const Json::object_t&>()); break;
    case Kind::array: AppendArray(out, value.get_ref<const Json::array_t&>()); break;
    case Kind::string: AppendJsonText(out, value.get_ref<const std::string&>()); break;
    case Kind::boolean: out += value.get<bool>() ? "true" : "false"; break;
    case Kind::null: out += "null"; break;
    case Kind::number_integer: AppendNumber(out, value.get<std::int64_t>()); break;
    case Kind::number_unsigned: AppendNumber(out, value.get<std::uint64_t>()); break;
    default: out += DumpReplaced(value); break;
  }
}

std::string FormatJson(const Json& value) {
  std::string out;
  AppendJson(out, value);
  return out;
}

std::string FormatIndentedJson(const Json& value, int blanks) {
  return DumpReplaced(value, blanks);
}

std::string FormatOrderedJson(const nlohmann::ordered_json& value, int blanks) {
  return DumpReplaced(value, blanks);
}

void JsonPrinter::NewLine() {
  constexpr std::size_t kBlanks = 2;
  out_.push_back('\n');
  out_.append(depth_ * kBlanks, ' ');
}

void JsonPrinter::Begin() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!first_) out_.push_back(',');
  first_ = false;
  NewLine();
}

void JsonPrinter::Open(char bracket) {
  Begin();
  out_.push_back(bracket);
  ++depth_;
  first_ = true;
}

void JsonPrinter::Close(char bracket) {
  --depth_;
  if (!first_) NewLine();
  out_.push_back(bracket);
  first_ = false;
}

void JsonPrinter::Key(const char* name) {
  Begin();
  AppendJsonText(out_, name);
  out_ += ": ";
  after_key_ = true;
}

void JsonPrinter::Text(const std::string& value) {
  Begin();
  AppendJsonText(out_, value);
}

void JsonPrinter::Number(std::int64_t value) {
  Begin();
  AppendNumber(out_, value);
}

void JsonPrinter::Number(std::uint64_t value) {
  Begin();
  AppendNumber(out_, value);
}

void JsonPrinter::Real(double value) {
  Begin();
  AppendJson(out_, value);
}

void JsonPrinter::Flag(bool value) {
  Begin();
  out_ += value ? "true" : "false";
}

void JsonPrinter::Null() {
  Begin();
  out_ += "null";
}

}  // namespace berth::api
