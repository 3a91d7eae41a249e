#include "api/yaml/scalar.h"
#include "api/yaml/yaml.h"

namespace berth::api {
namespace {

using Json = nlohmann::json;

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// True if `text` can stand unquoted in block style and still is the same text when read.
bool IsPlainSafe(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`";
  if (kIndicators.find(text.front()) != std::string_view::npos) {
    // "-x", "?x" and ":x" are plain.
    const bool soft = text.front() == '-' || text.front() == '?' || text.front() == ':';
    if (!soft || text.size() < 2 || text[1] == ' ') return false;
  }
  if (text.substr(0, 3) == "---" || text.substr(0, 3) == "...") return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (IsControl(text[i])) return false;
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
  for (const char c : text) {
    const std::size_t named = kFrom.find(c);
    if (named != std::string_view::npos) {
      out += {'\\', kTo[named]};
    } else if (IsControl(c)) {
      const auto byte = static_cast<unsigned char>(c);
      out += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 0xfU]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool IsBlockText(std::string_view text) {
  if (text.find('\n') == std::string_view::npos) return false;
  for (const char c : text) {
    if (IsControl(c) && c != '\n' && c != '\t') return false;
  }
  return true;
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
      Key(key);
      out_ += ':';
      Member(value, indent);
    }
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
      if (item.is_object() && !item.empty()) {
        Map(item, indent + 2, Start::kInline);
      } else if (item.is_array() && !item.empty()) {
        // The first item of the inner list stands on this line.
        const std::size_t at = out_.size();
        List(item, indent + 2);
        out_.erase(at, indent + 2);
      } else {
        Scalar(item, indent + 2);
        out_ += '\n';
      }
    }
  }

  void Scalar(const Json& value, std::size_t indent) {
    if (!value.is_string()) {
      out_ += value.dump(-1, ' ', false, Json::error_handler_t::replace);
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
    if (key == "<<") {  // would merge
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
    bool control = false;
    for (const char c : text) control = control || IsControl(c);
    // Words that read as something else are double quoted, as kubectl shows them.
    if (control || text.empty() || IsPlainSafe(text)) {
      out_ += DoubleQuoted(text);
    } else {
      out_ += SingleQuoted(text);
    }
  }

  void Block(const std::string& text, std::size_t indent) {
    std::size_t line_ends = 0;
    while (line_ends < text.size() && text[text.size() - 1 - line_ends] == '\n') ++line_ends;
    out_ += '|';
    // The reader would take leading blanks for indentation.
    if (text.front() == ' ' || text.front() == '\n') out_ += '2';
    if (line_ends != 1) out_ += line_ends == 0 ? '-' : '+';
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
