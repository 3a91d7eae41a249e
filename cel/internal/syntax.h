// cel/internal/syntax.h — the tree of an expression, as it is written.
//
// Operators are calls of functions with CEL's names for them: a + b is _+_(a, b). Macros (has, all,
// map, cel.bind, …) are calls too; planner.cc gives them their meaning. Chains of && and of || are
// one call with all operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/value.h"

namespace berth::cel {

enum class Form : std::uint8_t {
  kLiteral,
  kName,    // x
  kSelect,  // target.name, target.?name
  kIndex,   // target[arguments[0]], target[?…]
  kCall,    // name(arguments)
  kMethod,  // target.name(arguments)
  kList,    // [arguments]
  kMap,     // {arguments[0]: arguments[1], …}
  kStruct,  // name{fields[0]: arguments[0], …}
};

struct Syntax {
  Form form = Form::kLiteral;
  bool optional = false;  // kSelect with .?, kIndex with [?
  std::size_t at = 0;     // where errors of this node point to
  int height = 1;         // the height of the tree below, this node included
  std::string name;
  Value literal;
  std::unique_ptr<Syntax> target;
  std::vector<std::unique_ptr<Syntax>> arguments;
  std::vector<std::string> fields;   // kStruct
  std::vector<std::size_t> ats;      // kMap and kStruct: the place of each entry's colon
  std::vector<bool> optional_entry;  // kList, kMap, kStruct: written with ?
};
using SyntaxPtr = std::unique_ptr<Syntax>;

// kInvalid with the place for what is no expression, and for trees higher than `nesting`.
Result<SyntaxPtr> Parse(std::string_view text, int nesting);

// "a.b.c" of a chain of selections that begins with a name.
std::optional<std::string> QualifiedName(const Syntax& syntax);

// `syntax` as text that parses to an equal tree; operators are in parentheses.
std::string Print(const Syntax& syntax);

}  // namespace berth::cel
