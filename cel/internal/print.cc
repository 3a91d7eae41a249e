#include <algorithm>
#include <array>

#include "cel/internal/numbers.h"
#include "cel/internal/syntax.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

std::string Quote(std::string_view text, bool bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result = bytes ? "b\"" : "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20U || byte == 0x7FU || (bytes && byte >= 0x80U)) {
      result += "\\x";
      result += kHex[byte >> 4U];
      result += kHex[byte & 0xFU];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string PrintLiteral(const Value& value) {
  switch (value.kind()) {
    case Kind::kString: return Quote(value.AsText(), false);
    case Kind::kBytes: return Quote(value.AsText(), true);
    case Kind::kUint: return std::to_string(value.AsUint()) + "u";
    case Kind::kDouble: {
      std::string text = FormatDouble(value.AsDouble());
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      return text;
    }
    default: return ToText(value);
  }
}

void Append(std::string& text, const Syntax& syntax);

void AppendAll(std::string& text, const Syntax& syntax, std::string_view separator) {
  for (std::size_t i = 0; i < syntax.arguments.size(); ++i) {
    if (i > 0) text += separator;
    if (!syntax.optional_entry.empty() && syntax.optional_entry[i]) text += '?';
    Append(text, *syntax.arguments[i]);
  }
}

// "_+_" and "@in" with two operands or more.
bool AppendOperator(std::string& text, const Syntax& syntax) {
  const std::string& name = syntax.name;
  if (name == "_?_:_") {
    text += '(';
    Append(text, *syntax.arguments[0]);
    text += " ? ";
    Append(text, *syntax.arguments[1]);
    text += " : ";
    Append(text, *syntax.arguments[2]);
    text += ')';
    return true;
  }
  if (name == "!_" || name == "-_") {
    // The inner parentheses keep -(-1) from being read as one literal.
    text += "(" + name.substr(0, 1) + "(";
    Append(text, *syntax.arguments[0]);
    text += "))";
    return true;
  }
  constexpr std::array<std::string_view, 13> kBinary{"_+_",  "_-_",  "_*_", "_/_",  "_%_",
                                                     "_<_",  "_<=_", "_>_", "_>=_", "_==_",
                                                     "_!=_", "_&&_", "_||_"};
  const bool in = name == "@in";
  if (!in && std::find(kBinary.begin(), kBinary.end(), name) == kBinary.end()) return false;
  text += '(';
  AppendAll(text, syntax, in ? " in " : " " + name.substr(1, name.size() - 2) + " ");
  text += ')';
  return true;
}

void AppendEntries(std::string& text, const Syntax& syntax) {
  text += '{';
  const bool named = syntax.form == Form::kStruct;
  const std::size_t count = syntax.optional_entry.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    if (syntax.optional_entry[i]) text += '?';
    if (named) {
      text += syntax.fields[i];
    } else {
      Append(text, *syntax.arguments[2 * i]);
    }
    text += ": ";
    Append(text, *syntax.arguments[named ? i : 2 * i + 1]);
  }
  text += '}';
}

// The target of a selection. A number needs parentheses: 1.f would be read as a double.
void AppendTarget(std::string& text, const Syntax& target) {
  const bool number = target.form == Form::kLiteral;
  if (number) text += '(';
  Append(text, target);
  if (number) text += ')';
}

void Append(std::string& text, const Syntax& syntax) {
  switch (syntax.form) {
    case Form::kLiteral: text += PrintLiteral(syntax.literal); return;
    case Form::kName: text += syntax.name; return;
    case Form::kSelect:
      AppendTarget(text, *syntax.target);
      text += syntax.optional ? ".?" : ".";
      text += syntax.name;
      return;
    case Form::kIndex:
      AppendTarget(text, *syntax.target);
      text += syntax.optional ? "[?" : "[";
      Append(text, *syntax.arguments[0]);
      text += ']';
      return;
    case Form::kCall:
      if (AppendOperator(text, syntax)) return;
      text += syntax.name + "(";
      AppendAll(text, syntax, ", ");
      text += ')';
      return;
    case Form::kMethod:
      AppendTarget(text, *syntax.target);
      text += "." + syntax.name + "(";
      AppendAll(text, syntax, ", ");
      text += ')';
      return;
    case Form::kList:
      text += '[';
      AppendAll(text, syntax, ", ");
      text += ']';
      return;
    case Form::kStruct: text += syntax.name; [[fallthrough]];
    case Form::kMap: AppendEntries(text, syntax); return;
  }
}

}  // namespace

std::optional<std::string> QualifiedName(const Syntax& syntax) {
  if (syntax.form == Form::kName) return syntax.name;
  if (syntax.form != Form::kSelect || syntax.optional) return std::nullopt;
  auto target = QualifiedName(*syntax.target);
  if (!target) return std::nullopt;
  return *target + "." + syntax.name;
}

std::string Print(const Syntax& syntax) {
  std::string text;
  Append(text, syntax);
  return text;
}

}  // namespace berth::cel
