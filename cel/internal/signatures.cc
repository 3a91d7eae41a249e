#include "cel/internal/signatures.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "cel/internal/typing.h"

namespace berth::cel {
namespace {

struct SignatureRow {
  std::string_view name;
  Style style;
  // Overloads: operands ">" result. s: string, i: int, u: uint, d: double, b: bool, y: bytes,
  // t: timestamp, D: duration, q: quantity, l: URL, p: IP, c: CIDR, v: semver, f: named format,
  // *: any, A and B: one type in all places, [X: list of X, {KV: map, ?X: optional.
  std::string_view overloads;
};

// The declarations of the environment of Kubernetes 1.36.
constexpr auto kSignatures = std::to_array<SignatureRow>({
    {"add", Style::kMethod, "qq>q qi>q"},
    {"asApproximateFloat", Style::kMethod, "q>d"},
    {"asInteger", Style::kMethod, "q>i"},
    {"bool", Style::kGlobal, "b>b s>b"},
    {"bytes", Style::kGlobal, "y>y s>y"},
    {"charAt", Style::kMethod, "si>s"},
    {"cidr", Style::kGlobal, "s>c"},
    {"compareTo", Style::kMethod, "qq>i vv>i"},
    {"contains", Style::kMethod, "ss>b"},
    {"containsCIDR", Style::kMethod, "cc>b cs>b"},
    {"containsIP", Style::kMethod, "cp>b cs>b"},
    {"distinct", Style::kMethod, "[A>[A"},
    {"double", Style::kGlobal, "d>d i>d s>d u>d"},
    {"duration", Style::kGlobal, "D>D i>D s>D"},
    {"endsWith", Style::kMethod, "ss>b"},
    {"family", Style::kMethod, "p>i"},
    {"find", Style::kMethod, "ss>s"},
    {"findAll", Style::kMethod, "ss>[s ssi>[s"},
    {"first", Style::kMethod, "[A>?A"},
    {"flatten", Style::kMethod, "[[A>[A [*i>[*"},
    {"format", Style::kMethod, "s[*>s"},
    {"format.byte", Style::kGlobal, ">f"},
    {"format.date", Style::kGlobal, ">f"},
    {"format.datetime", Style::kGlobal, ">f"},
    {"format.dns1035Label", Style::kGlobal, ">f"},
    {"format.dns1035LabelPrefix", Style::kGlobal, ">f"},
    {"format.dns1123Label", Style::kGlobal, ">f"},
    {"format.dns1123LabelPrefix", Style::kGlobal, ">f"},
    {"format.dns1123Subdomain", Style::kGlobal, ">f"},
    {"format.dns1123SubdomainPrefix", Style::kGlobal, ">f"},
    {"format.labelValue", Style::kGlobal, ">f"},
    {"format.named", Style::kGlobal, "s>?f"},
    {"format.qualifiedName", Style::kGlobal, ">f"},
    {"format.uri", Style::kGlobal, ">f"},
    {"format.uuid", Style::kGlobal, ">f"},
    {"getDate", Style::kMethod, "t>i ts>i"},
    {"getDayOfMonth", Style::kMethod, "t>i ts>i"},
    {"getDayOfWeek", Style::kMethod, "t>i ts>i"},
    {"getDayOfYear", Style::kMethod, "t>i ts>i"},
    {"getEscapedPath", Style::kMethod, "l>s"},
    {"getFullYear", Style::kMethod, "t>i ts>i"},
    {"getHost", Style::kMethod, "l>s"},
    {"getHostname", Style::kMethod, "l>s"},
    {"getHours", Style::kMethod, "D>i t>i ts>i"},
    {"getMilliseconds", Style::kMethod, "D>i t>i ts>i"},
    {"getMinutes", Style::kMethod, "D>i t>i ts>i"},
    {"getMonth", Style::kMethod, "t>i ts>i"},
    {"getPort", Style::kMethod, "l>s"},
    {"getQuery", Style::kMethod, "l>{s[s"},
    {"getScheme", Style::kMethod, "l>s"},
    {"getSeconds", Style::kMethod, "D>i t>i ts>i"},
    {"hasValue", Style::kMethod, "?A>b"},
    {"indexOf", Style::kMethod, "[AA>i ss>i ssi>i"},
    {"int", Style::kGlobal, "d>i D>i i>i s>i t>i u>i"},
    {"ip", Style::kGlobal, "s>p"},
    {"ip", Style::kMethod, "c>p"},
    {"ip.isCanonical", Style::kGlobal, "s>b"},
    {"isCIDR", Style::kGlobal, "s>b"},
    {"isGlobalUnicast", Style::kMethod, "p>b"},
    {"isGreaterThan", Style::kMethod, "qq>b vv>b"},
    {"isIP", Style::kGlobal, "s>b"},
    {"isInteger", Style::kMethod, "q>b"},
    {"isLessThan", Style::kMethod, "qq>b vv>b"},
    {"isLinkLocalMulticast", Style::kMethod, "p>b"},
    {"isLinkLocalUnicast", Style::kMethod, "p>b"},
    {"isLoopback", Style::kMethod, "p>b"},
    {"isQuantity", Style::kGlobal, "s>b"},
    {"isSemver", Style::kGlobal, "s>b sb>b"},
    {"isSorted", Style::kMethod, "[b>b [y>b [d>b [D>b [i>b [s>b [t>b [u>b"},
    {"isURL", Style::kGlobal, "s>b"},
    {"isUnspecified", Style::kMethod, "p>b"},
    {"join", Style::kMethod, "[s>s [ss>s"},
    {"last", Style::kMethod, "[A>?A"},
    {"lastIndexOf", Style::kMethod, "[AA>i ss>i ssi>i"},
    {"lists.range", Style::kGlobal, "i>[i"},
    {"lowerAscii", Style::kMethod, "s>s"},
    {"major", Style::kMethod, "v>i"},
    {"masked", Style::kMethod, "c>c"},
    {"matches", Style::kGlobal, "ss>b"},
    {"matches", Style::kMethod, "ss>b"},
    {"math.abs", Style::kGlobal, "d>d i>i u>u"},
    {"math.bitAnd", Style::kGlobal, "ii>i uu>u"},
    {"math.bitNot", Style::kGlobal, "i>i u>u"},
    {"math.bitOr", Style::kGlobal, "ii>i uu>u"},
    {"math.bitShiftLeft", Style::kGlobal, "ii>i ui>u"},
    {"math.bitShiftRight", Style::kGlobal, "ii>i ui>u"},
    {"math.bitXor", Style::kGlobal, "ii>i uu>u"},
    {"math.ceil", Style::kGlobal, "d>d"},
    {"math.floor", Style::kGlobal, "d>d"},
    {"math.isFinite", Style::kGlobal, "d>b"},
    {"math.isInf", Style::kGlobal, "d>b"},
    {"math.isNaN", Style::kGlobal, "d>b"},
    {"math.round", Style::kGlobal, "d>d"},
    {"math.sign", Style::kGlobal, "d>d i>i u>u"},
    {"math.sqrt", Style::kGlobal, "d>d i>d u>d"},
    {"math.trunc", Style::kGlobal, "d>d"},
    {"max", Style::kMethod, "[b>b [y>y [d>d [D>D [i>i [s>s [t>t [u>u"},
    {"min", Style::kMethod, "[b>b [y>y [d>d [D>D [i>i [s>s [t>t [u>u"},
    {"minor", Style::kMethod, "v>i"},
    {"optional.none", Style::kGlobal, ">?A"},
    {"optional.of", Style::kGlobal, "A>?A"},
    {"optional.ofNonZeroValue", Style::kGlobal, "A>?A"},
    {"optional.unwrap", Style::kGlobal, "[?A>[A"},
    {"or", Style::kMethod, "?A?A>?A"},
    {"orValue", Style::kMethod, "?AA>A"},
    {"patch", Style::kMethod, "v>i"},
    {"prefixLength", Style::kMethod, "c>i"},
    {"quantity", Style::kGlobal, "s>q"},
    {"replace", Style::kMethod, "sss>s sssi>s"},
    {"reverse", Style::kMethod, "[A>[A"},
    {"semver", Style::kGlobal, "sb>v s>v"},
    {"sets.contains", Style::kGlobal, "[A[A>b"},
    {"sets.equivalent", Style::kGlobal, "[A[A>b"},
    {"sets.intersects", Style::kGlobal, "[A[A>b"},
    {"sign", Style::kGlobal, "q>i"},
    {"size", Style::kGlobal, "y>i [A>i {AB>i s>i"},
    {"size", Style::kMethod, "y>i [A>i {AB>i s>i"},
    {"slice", Style::kMethod, "[Aii>[A"},
    {"sort", Style::kMethod, "[b>[b [y>[y [d>[d [D>[D [t>[t [i>[i [s>[s [u>[u"},
    {"split", Style::kMethod, "ss>[s ssi>[s"},
    {"startsWith", Style::kMethod, "ss>b"},
    {"string", Style::kGlobal, "b>s y>s c>s d>s D>s i>s p>s s>s t>s u>s"},
    {"strings.quote", Style::kGlobal, "s>s"},
    {"sub", Style::kMethod, "qq>q qi>q"},
    {"substring", Style::kMethod, "si>s sii>s"},
    {"sum", Style::kMethod, "[d>d [D>D [i>i [u>u"},
    {"timestamp", Style::kGlobal, "i>t s>t t>t"},
    {"trim", Style::kMethod, "s>s"},
    {"uint", Style::kGlobal, "d>u i>u s>u u>u"},
    {"unwrapOpt", Style::kMethod, "[?A>[A"},
    {"upperAscii", Style::kMethod, "s>s"},
    {"url", Style::kGlobal, "s>l"},
    {"validate", Style::kMethod, "fs>?[s"},
    {"value", Style::kMethod, "?A>A"},
});

// A list of X, a map of K and V, an optional of X, a type, or a name that stands for one.
struct Pattern {
  Type::Kind kind = Type::Kind::kDyn;
  std::string_view opaque;      // the name of a kOpaque
  int parameter = -1;           // 0: A, 1: B
  std::vector<Pattern> inside;  // the parts of a list, a map or an optional
};

struct Overload {
  std::vector<Pattern> operands;
  Pattern result;
};

std::string_view OpaqueName(char letter) {
  switch (letter) {
    case 'q': return "kubernetes.Quantity";
    case 'l': return "kubernetes.URL";
    case 'p': return "net.IP";
    case 'c': return "net.CIDR";
    case 'v': return "kubernetes.Semver";
    case 'f': return "kubernetes.NamedFormat";
    default: return "";
  }
}

Type::Kind KindOfLetter(char letter) {
  using enum Type::Kind;
  switch (letter) {
    case 's': return kString;
    case 'i': return kInt;
    case 'u': return kUint;
    case 'd': return kDouble;
    case 'b': return kBool;
    case 'y': return kBytes;
    case 't': return kTimestamp;
    case 'D': return kDuration;
    case '[': return kList;
    case '{': return kMap;
    case '?': return kOptional;
    default: return OpaqueName(letter).empty() ? kDyn : kOpaque;
  }
}

Pattern ReadPattern(std::string_view text, std::size_t& at) {
  const char letter = text[at++];
  Pattern pattern;
  pattern.kind = KindOfLetter(letter);
  pattern.opaque = OpaqueName(letter);
  if (letter == 'A' || letter == 'B') pattern.parameter = letter - 'A';
  const int inside = letter == '{' ? 2 : letter == '[' || letter == '?' ? 1 : 0;
  for (int i = 0; i < inside; ++i) pattern.inside.push_back(ReadPattern(text, at));
  return pattern;
}

using Bindings = std::array<TypePtr, 2>;

bool MatchesPattern(const TypePtr& type, const Pattern& pattern, Bindings& bindings) {
  if (pattern.parameter >= 0) {
    TypePtr& bound = bindings[static_cast<std::size_t>(pattern.parameter)];
    if (bound == nullptr) bound = type;
    return Fits(type, bound);
  }
  if (type->kind == Type::Kind::kDyn || pattern.kind == Type::Kind::kDyn) return true;
  if (type->kind == Type::Kind::kNull) return pattern.kind == Type::Kind::kOptional;
  if (type->kind != pattern.kind) return false;
  if (pattern.kind == Type::Kind::kOpaque) return type->name == pattern.opaque;
  if (pattern.inside.empty()) return true;
  const TypePtr element = type->element == nullptr ? TypeOf(Type::Kind::kDyn) : type->element;
  if (pattern.kind == Type::Kind::kMap &&
      !MatchesPattern(TypeOf(Type::Kind::kString), pattern.inside[0], bindings)) {
    return false;
  }
  return MatchesPattern(element, pattern.inside.back(), bindings);
}

TypePtr TypeOfPattern(const Pattern& pattern, const Bindings& bindings) {
  if (pattern.parameter >= 0) {
    const TypePtr& bound = bindings[static_cast<std::size_t>(pattern.parameter)];
    return bound == nullptr ? TypeOf(Type::Kind::kDyn) : bound;
  }
  if (pattern.kind == Type::Kind::kOpaque) {
    auto type = std::make_shared<Type>();
    type->kind = pattern.kind;
    type->name = std::string(pattern.opaque);
    return type;
  }
  if (pattern.inside.empty()) return TypeOf(pattern.kind);
  return TypeOf(pattern.kind, TypeOfPattern(pattern.inside.back(), bindings));
}

}  // namespace

struct Signatures {
  std::vector<Overload> overloads;
};

const Signatures* SignaturesOf(std::string_view function, Style style) {
  static const auto kByName = [] {
    std::map<std::pair<std::string_view, Style>, Signatures> all;
    for (const SignatureRow& row : kSignatures) {
      Signatures& signatures = all[{row.name, row.style}];
      for (std::size_t at = 0; at < row.overloads.size(); ++at) {
        Overload overload;
        while (row.overloads[at] != '>') {
          overload.operands.push_back(ReadPattern(row.overloads, at));
        }
        overload.result = ReadPattern(row.overloads, ++at);
        signatures.overloads.push_back(std::move(overload));
      }
    }
    return all;
  }();
  const auto found = kByName.find({function, style});
  return found == kByName.end() ? nullptr : &found->second;
}

TypePtr ResultOf(const Signatures& signatures, const std::vector<TypePtr>& operands) {
  TypePtr result;
  for (const Overload& overload : signatures.overloads) {
    if (overload.operands.size() != operands.size()) continue;
    Bindings bindings;
    bool fits = true;
    for (std::size_t i = 0; fits && i < operands.size(); ++i) {
      fits = MatchesPattern(operands[i], overload.operands[i], bindings);
    }
    if (!fits) continue;
    TypePtr one = TypeOfPattern(overload.result, bindings);
    if (result == nullptr) {
      result = std::move(one);
    } else if (NameOfType(result) != NameOfType(one)) {
      return TypeOf(Type::Kind::kDyn);
    }
  }
  return result;
}

}  // namespace berth::cel
