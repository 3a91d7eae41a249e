// cel/internal/plan.h — a compiled expression: a tree of steps, with names resolved to slots and
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cel/internal/functions.h"
#include "cel/internal/syntax.h"
#include "cel/program.h"

namespace re2 {
class RE2;
}

namespace berth::cel {

enum class Op : std::uint8_t {
  kConstant,
  kVariable,        // slot
  kLocal,           // slot
  kSelect,          // children[0].field
  kOptionalSelect,  // children[0].?field
  kHas,             // has(children[0].field)
  kIndex,           // children[0][children[1]]
  kOptionalIndex,   // children[0][?children[1]]
  kAnd,
  kOr,
  kNot,
  kConditional,
  kEqual,
  kNotEqual,
  kIn,
  kCall,  // function(children…)
  kList,
  kMap,  // children: key, value, key, value, …
  // Loops over a range (children[0]) with a local (slot), and the local of the entry's value
  // (second_slot, -1: none): children[1] is the predicate.
  kAll,
  kExists,
  kExistsOne,
  kMapList,  // children[1]: the element; children[2], if any: the filter
  kFilter,
  kTransformMap,    // children[1]: the value; children[2]: the filter
  kTransformEntry,  // children[1]: a map of new entries; children[2]: the filter
  kSortBy,          // children[1]: the key of the order
  kBind,            // children[0] bound to slot in children[1]
  kOptionalMap,     // children[0].optMap(slot, children[1])
  kOptionalFlatMap,
  kOptionalOr,  // children[0].or(children[1])
  kOptionalOrValue,
};

struct Step {
  Op op = Op::kConstant;
  int slot = -1;
  int second_slot = -1;
  Value constant;
  std::string field;
  std::string unescaped;  // the property of `field`, if `field` is an escaped name; else empty
  const FunctionEntry* function = nullptr;
  std::shared_ptr<const re2::RE2> regex;  // kCall: the compiled argument 1, if that is a literal
  std::vector<Step> children;
  std::vector<bool> optional_entry;  // which entries of a list or map are optional; empty: none
};

struct Plan {
  std::string text;
  Limits limits;
  std::vector<std::string> variables;  // by slot
  std::size_t locals = 0;
  Step root;
  SyntaxPtr syntax;
};

// Resolves the names and macros of `syntax`. kInvalid with all places that cannot be resolved.
Result<std::shared_ptr<const Plan>> MakePlan(std::string_view text, SyntaxPtr syntax,
                                             const Environment& environment);

}  // namespace berth::cel
