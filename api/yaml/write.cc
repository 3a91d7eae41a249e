#include "api/codec/json_write.h"
#include "api/yaml/scalar.h"
#include "api/yaml/yaml.h"

namespace berth::api {
namespace {

using Json = nlohmann::json;

// A longer key is written as "? KEY": readers search the ":" of a key in 1024 characters.
constexpr std::size_t kMaxPlainKey = 128;

// True if `text` has a character that needs an escape; line ends do not count.
bool HasEscapes(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (character.code != '\n' && !IsWrittenPlain(character.code)) return true;
    at += character.bytes;
  }
  return false;
}

// True if unquoted `text` in block style is read as the same text.
bool IsPlainSafe(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`";
  if (kIndicators.find(text.front()) != std::string_view::npos) {
    // "-x", "?x" and ":x" are plain.
    const bool soft = text.front() == '-' || text.front() == '?' || text.front() == ':';
    if (!soft || text.size() < 2 || text[1] == ' ') return false;
  }
  if (text.substr(0, 3) == "---" || text.substr(0, 3) == "...") return false;
  if (HasEscapes(text) || text.find('\n') != std::string_view::npos) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ':' && i + 1 < text.size() && text[i + 1] == ' ') return false;
    if (text[i] == '#' && i > 0 && text[i - 1] == ' ') return false;
  }
  return true;
}

bool ResolvesToText(std::string_view text) {
  const auto value = ResolvePlainScalar(text);
  return value && value->is_string() && !LooksLikeTime(text);
}

std::string SingleQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string DoubleQuoted(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  static constexpr std::string_view kFrom{"\0\a\b\t\n\v\f\r\x1b\"\\", 11};
  static constexpr std::string_view kTo = "0abtnvfre\"\\";
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    const std::size_t named = character.code < 0x80 ? kFrom.find(text[at]) : std::string_view::npos;
    if (named != std::string_view::npos) {
      out += {'\\', kTo[named]};
    } else if (IsWrittenPlain(character.code)) {
      out += text.substr(at, character.bytes);
    } else {
      const std::size_t digits = character.code < 0x80 ? 2 : character.code <= 0xFFFF ? 4 : 8;
      out += {'\\', digits == 2 ? 'x' : digits == 4 ? 'u' : 'U'};
      for (std::size_t i = digits; i-- > 0;) out += kHex[(character.code >> (4 * i)) & 0xFU];
    }
    at += character.bytes;
  }
  return out + "\"";
}

bool IsBlockText(std::string_view text) {
  return text.find('\n') != std::string_view::npos && !HasEscapes(text);
}

class Writer {
 public:
  void Value(const Json& value, std::size_t indent) {
    if (value.is_object() && !value.empty()) {
      Map(value, indent, Start::kNewLine);
    } else if (value.is_array() && !value.empty()) {
      List(value, indent);
    } else {
      Scalar(value, indent + 2);
      out_ += '\n';
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  enum class Start { kNewLine, kInline };

  void Map(const Json& map, std::size_t indent, Start start) {
    for (const auto& [key, value] : map.items()) {
      if (start == Start::kNewLine) out_.append(indent, ' ');
      start = Start::kNewLine;
      if (key.size() > kMaxPlainKey || key.find('\n') != std::string::npos) {
        LongKey(key, value, indent);
        continue;
      }
      Key(key);
      out_ += ':';
      Member(value, indent);
    }
  }

  void LongKey(const std::string& key, const Json& value, std::size_t indent) {
    out_ += "? ";
    Scalar(key, indent + 2);
    out_ += '\n';
    out_.append(indent, ' ');
    out_ += ": ";
    InlineValue(value, indent);
  }

  void Member(const Json& value, std::size_t indent) {
    if (value.is_object() && !value.empty()) {
      out_ += '\n';
      Map(value, indent + 2, Start::kNewLine);
    } else if (value.is_array() && !value.empty()) {
      out_ += '\n';
      List(value, indent);
    } else {
      out_ += ' ';
      Scalar(value, indent + 2);
      out_ += '\n';
    }
  }

  void List(const Json& list, std::size_t indent) {
    for (const Json& item : list) {
      out_.append(indent, ' ');
      out_ += "- ";
      InlineValue(item, indent);
    }
  }

  // Writes behind "- " or ": "; the first member or item of a container is on the same line.
  void InlineValue(const Json& value, std::size_t indent) {
    if (value.is_object() && !value.empty()) {
      Map(value, indent + 2, Start::kInline);
    } else if (value.is_array() && !value.empty()) {
      const std::size_t at = out_.size();
      List(value, indent + 2);
      out_.erase(at, indent + 2);
    } else {
      Scalar(value, indent + 2);
      out_ += '\n';
    }
  }

  void Scalar(const Json& value, std::size_t indent) {
    if (!value.is_string()) {
      out_ += FormatJson(value);
      return;
    }
    const auto& text = value.get_ref<const std::string&>();
    if (!IsBlockText(text)) {
      Text(text);
      return;
    }
    Block(text, indent);
  }

  void Key(const std::string& key) {
    if (key == "<<") {  // a merge key if unquoted
      out_ += SingleQuoted(key);
    } else {
      Text(key);
    }
  }

  void Text(const std::string& text) {
    if (IsPlainSafe(text) && ResolvesToText(text)) {
      out_ += text;
      return;
    }
    const bool escapes = HasEscapes(text) || text.find('\n') != std::string::npos;
    // Text that would be read as another value is double quoted, as by kubectl.
    if (escapes || text.empty() || IsPlainSafe(text)) {
      out_ += DoubleQuoted(text);
    } else {
      out_ += SingleQuoted(text);
    }
  }

  void Block(const std::string& text, std::size_t indent) {
    std::size_t line_ends = 0;
    while (line_ends < text.size() && text[text.size() - 1 - line_ends] == '\n') ++line_ends;
    out_ += '|';
    // Readers would take leading blanks for indentation.
    if (text.front() == ' ' || text.front() == '\n') out_ += '2';
    // Without text before it readers drop a single line end too.
    if (line_ends != 1 || text.size() == 1) out_ += line_ends == 0 ? '-' : '+';
    std::size_t at = 0;
    const std::size_t end = text.size() - (line_ends > 0 ? 1 : 0);
    while (at <= end) {
      const std::size_t stop = std::min(text.find('\n', at), end);
      out_ += '\n';
      if (stop > at) out_.append(indent, ' ').append(text, at, stop - at);
      at = stop + 1;
    }
  }

  std::string out_;
};

}  // namespace

std::string FormatYaml(const Json& value) {
  Writer writer;
  writer.Value(value, 0);
  return writer.Take();
}

}  // namespace berth::api
