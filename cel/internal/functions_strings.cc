// The strings library. Indexes count characters. indexOf and lastIndexOf search lists too.
#include <algorithm>
#include <optional>
#include <string>

#include "base/strings.h"
#include "cel/containers.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/internal/runes.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

Value OutOfRange(std::int64_t index) {
  return Value::Failure("index out of range: " + std::to_string(index));
}

// Whether the arguments are a string and then `kinds`; pays for reading the string once.
bool Fits(const Call& call, std::initializer_list<Kind> kinds) {
  if (!call.Is(0, Kind::kString)) return false;
  std::size_t i = 1;
  for (const Kind kind : kinds) {
    if (i < call.size() && !call.Is(i, kind)) return false;
    ++i;
  }
  call.machine.ChargeText(call[0].AsText().size());
  return true;
}

// The byte of character `index`, or none if the text has fewer than `index` characters.
std::optional<std::size_t> Offset(std::string_view text, std::int64_t index) {
  if (index < 0 || static_cast<std::uint64_t>(index) > text.size()) return std::nullopt;
  const std::size_t offset = OffsetOfRune(text, static_cast<std::size_t>(index));
  return offset == kNone ? std::nullopt : std::optional(offset);
}

Value CharAt(const Call& call) {
  if (!Fits(call, {Kind::kInt})) return call.NoOverload();
  const std::string_view text = call[0].AsText();
  const auto at = Offset(text, call[1].AsInt());
  if (!at) return OutOfRange(call[1].AsInt());
  const std::size_t size = *at == text.size() ? 0 : RuneSize(text.substr(*at));
  return call[0].Slice(*at, size);
}

Value Substring(const Call& call) {
  if (!Fits(call, {Kind::kInt, Kind::kInt})) return call.NoOverload();
  const std::string_view text = call[0].AsText();
  const std::int64_t start = call[1].AsInt();
  if (call.size() == 3 && start > call[2].AsInt()) {
    return Value::Failure("invalid substring range. start: " + std::to_string(start) +
                          ", end: " + std::to_string(call[2].AsInt()));
  }
  const auto from = Offset(text, start);
  if (!from) return OutOfRange(start);
  const auto to = call.size() == 3 ? Offset(text, call[2].AsInt()) : text.size();
  if (!to) return OutOfRange(call[2].AsInt());
  return call[0].Slice(*from, *to - *from);
}

Value FoundAt(std::string_view text, std::size_t at) {
  if (at == kNone) return Value::Int(-1);
  return Value::Int(static_cast<std::int64_t>(CountRunes(text.substr(0, at))));
}

Value IndexInList(const Call& call) {
  if (call.size() != 2) return call.NoOverload();
  const bool last = call.name == "lastIndexOf";
  const ListView list = call[0].AsList();
  const std::size_t size = list.size();
  for (std::size_t i = 0; i < size && !call.machine.exhausted(); ++i) {
    const std::size_t at = last ? size - 1 - i : i;
    if (call.machine.Equal(list.At(at), call[1])) {
      return Value::Int(static_cast<std::int64_t>(at));
    }
  }
  return Value::Int(-1);
}

Value IndexOf(const Call& call) {
  if (call.Is(0, Kind::kList)) return IndexInList(call);
  if (!Fits(call, {Kind::kString, Kind::kInt})) return call.NoOverload();
  const std::string_view text = call[0].AsText();
  const std::string_view wanted = call[1].AsText();
  const std::int64_t offset = call.size() == 3 ? call[2].AsInt() : 0;
  if (wanted.empty()) return Value::Int(offset);
  if (offset < 0) return OutOfRange(offset);
  const auto from = Offset(text, offset);
  return from ? FoundAt(text, FindText(text, wanted, *from)) : Value::Int(-1);
}

Value LastIndexOf(const Call& call) {
  if (call.Is(0, Kind::kList)) return IndexInList(call);
  if (!Fits(call, {Kind::kString, Kind::kInt})) return call.NoOverload();
  const std::string_view text = call[0].AsText();
  const std::string_view wanted = call[1].AsText();
  // A search from the end may compare all of `wanted` at each place.
  if (!call.machine.Charge(text.size() / 10 * (wanted.size() / 10 + 1))) {
    return call.machine.Exhausted();
  }
  if (call.size() == 2) {
    return wanted.empty() ? FoundAt(text, text.size()) : FoundAt(text, text.rfind(wanted));
  }
  const std::int64_t offset = call[2].AsInt();
  if (wanted.empty()) return Value::Int(offset);
  if (offset < 0) return OutOfRange(offset);
  const auto from = Offset(text, offset);
  if (!from || *from == text.size()) return Value::Int(-1);
  return FoundAt(text, text.rfind(wanted, *from));
}

// Letters from `first` on, 26 of them, moved by `distance`.
Value MoveLetters(const Call& call, char first, int distance) {
  if (!Fits(call, {})) return call.NoOverload();
  std::string text(call[0].AsText());
  for (char& c : text) {
    if (c >= first && c < first + 26) c = static_cast<char>(c + distance);
  }
  return call.machine.MakeString(std::move(text));
}
Value LowerAscii(const Call& call) { return MoveLetters(call, 'A', 'a' - 'A'); }
Value UpperAscii(const Call& call) { return MoveLetters(call, 'a', 'A' - 'a'); }

// How often an operation may cut or replace; argument `index`, without limit if absent or negative.
std::size_t CountLimit(const Call& call, std::size_t index) {
  if (call.size() <= index || call[index].AsInt() < 0) return kNone;
  return static_cast<std::size_t>(call[index].AsInt());
}

Value Replace(const Call& call) {
  if (!Fits(call, {Kind::kString, Kind::kString, Kind::kInt})) return call.NoOverload();
  const std::string_view text = call[0].AsText();
  const std::string_view old = call[1].AsText();
  const std::string_view with = call[2].AsText();
  std::size_t left = CountLimit(call, 3);
  std::string result;
  std::size_t at = 0;
  while (left > 0 && at <= text.size()) {
    // An empty `old` is found before each character and at the end.
    const std::size_t found = old.empty() ? at : FindText(text, old, at);
    if (found == kNone) break;
    if (!call.machine.Allocate(found - at + with.size())) return call.machine.Exhausted();
    result.append(text.substr(at, found - at)).append(with);
    at = found + old.size();
    --left;
    if (!old.empty()) continue;
    if (at == text.size()) return call.machine.MakeString(std::move(result));
    const std::size_t size = RuneSize(text.substr(at));
    result.append(text.substr(at, size));
    at += size;
  }
  if (at < text.size()) result.append(text.substr(at));
  return call.machine.MakeString(std::move(result));
}

Value SplitText(const Call& call) {
  if (!Fits(call, {Kind::kString, Kind::kInt})) return call.NoOverload();
  const std::string_view text = call[0].AsText();
  const std::string_view separator = call[1].AsText();
  const std::size_t limit = CountLimit(call, 2);
  Values pieces;
  if (limit == 0) return call.machine.MakeList(std::move(pieces));
  std::size_t at = 0;
  while (pieces.size() + 1 < limit) {
    std::size_t end = 0;
    if (separator.empty()) {
      end = at < text.size() ? at + RuneSize(text.substr(at)) : kNone;
      if (end >= text.size()) break;
    } else {
      end = FindText(text, separator, at);
      if (end == kNone) break;
    }
    if (!call.machine.Allocate(sizeof(Value))) return call.machine.Exhausted();
    pieces.push_back(call[0].Slice(at, end - at));
    at = end + separator.size();
  }
  if (!separator.empty() || at < text.size()) {
    pieces.push_back(call[0].Slice(at, text.size() - at));
  }
  return call.machine.MakeList(std::move(pieces));
}

Value Trim(const Call& call) {
  if (!Fits(call, {})) return call.NoOverload();
  const std::string_view text = call[0].AsText();
  std::size_t begin = 0;
  std::size_t end = text.size();
  // White space as Unicode has it.
  const auto is_space = [&](std::size_t at, std::size_t size) {
    const std::string_view rune = text.substr(at, size);
    if (size == 1) return std::string_view(" \t\n\v\f\r").find(rune) != kNone;
    static constexpr std::string_view kSpaces =
        "\u0085 \u00A0 \u1680 \u2000 \u2001 \u2002 \u2003 \u2004 \u2005 \u2006 \u2007 \u2008 "
        "\u2009 \u200A \u2028 \u2029 \u202F \u205F \u3000";
    return kSpaces.find(rune) != kNone;
  };
  while (begin < end) {
    const std::size_t size = RuneSize(text.substr(begin));
    if (!is_space(begin, size)) break;
    begin += size;
  }
  while (end > begin) {
    std::size_t size = 1;
    while (size < 3 && end - size > begin &&
           (static_cast<unsigned char>(text[end - size]) & 0xC0U) == 0x80U) {
      ++size;
    }
    if (!is_space(end - size, size)) break;
    end -= size;
  }
  return call[0].Slice(begin, end - begin);
}

Value JoinList(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  if (call.size() == 2 && !call.Is(1, Kind::kString)) return call.NoOverload();
  const ListView list = call[0].AsList();
  if (list.size() > 0 && !list.At(0).is(Kind::kString)) return call.NoOverload();
  const std::string_view separator = call.size() == 2 ? call[1].AsText() : "";
  std::string text;
  Value failure;
  bool first = true;
  list.ForEach([&](const Value& element) {
    if (!element.is(Kind::kString)) {
      failure = Value::Failure("join: invalid input: " + ToText(element));
      return false;
    }
    if (!call.machine.Allocate(element.AsText().size() + separator.size())) return false;
    if (!first) text += separator;
    first = false;
    text += element.AsText();
    return true;
  });
  return failure.is(Kind::kError) ? failure : call.machine.MakeString(std::move(text));
}

Value Reverse(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  const ListView list = call[0].AsList();
  Values elements;
  for (std::size_t i = list.size(); i > 0 && call.machine.Charge(1); --i) {
    elements.push_back(list.At(i - 1));
  }
  return call.machine.MakeList(std::move(elements));
}

Value QuoteText(const Call& call) {
  if (!Fits(call, {})) return call.NoOverload();
  constexpr std::string_view kPlain = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kLetters = "abfnrtv\\\"";
  std::string text = "\"";
  for (const char c : call[0].AsText()) {
    const std::size_t at = kPlain.find(c);
    if (at == kNone) {
      text += c;
    } else {
      text += '\\';
      text += kLetters[at];
    }
  }
  return call.machine.MakeString(text + "\"");
}

// jsonpatch.escapeKey("a/b~c") is "a~1b~0c": a part of a JSON pointer.
Value EscapeKey(const Call& call) {
  if (!Fits(call, {})) return call.NoOverload();
  std::string text;
  for (const char c : call[0].AsText()) {
    if (c == '/') {
      text += "~1";
    } else if (c == '~') {
      text += "~0";
    } else {
      text += c;
    }
  }
  return call.machine.MakeString(text);
}

constexpr FunctionEntry kStrings[] = {
    {"charAt", Style::kMethod, 2, 2, CharAt},
    {"substring", Style::kMethod, 2, 3, Substring},
    {"indexOf", Style::kMethod, 2, 3, IndexOf},
    {"lastIndexOf", Style::kMethod, 2, 3, LastIndexOf},
    {"lowerAscii", Style::kMethod, 1, 1, LowerAscii},
    {"upperAscii", Style::kMethod, 1, 1, UpperAscii},
    {"replace", Style::kMethod, 3, 4, Replace},
    {"split", Style::kMethod, 2, 3, SplitText},
    {"trim", Style::kMethod, 1, 1, Trim},
    {"join", Style::kMethod, 1, 2, JoinList},
    {"reverse", Style::kMethod, 1, 1, Reverse},
    {"strings.quote", Style::kGlobal, 1, 1, QuoteText},
    {"jsonpatch.escapeKey", Style::kGlobal, 1, 1, EscapeKey},
};

}  // namespace

std::span<const FunctionEntry> StringFunctions() { return kStrings; }

}  // namespace berth::cel
