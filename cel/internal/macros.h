// cel/internal/macros.h — methods with variables of their own: list.map(x, body), …
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "cel/internal/plan.h"

namespace berth::cel {

struct Macro {
  std::string_view name;
  std::size_t arguments = 0;
  Op op = Op::kAll;
  std::size_t variables = 1;
  // Indexes of the arguments that become children[1] and children[2]; 0: none.
  std::size_t body = 1;
  std::size_t filter = 0;
};

inline constexpr std::array kMacros{
    Macro{"all", 2, Op::kAll},
    Macro{"exists", 2, Op::kExists},
    Macro{"exists_one", 2, Op::kExistsOne},
    Macro{"existsOne", 2, Op::kExistsOne},
    Macro{"map", 2, Op::kMapList},
    Macro{"map", 3, Op::kMapList, 1, 2, 1},
    Macro{"filter", 2, Op::kFilter},
    Macro{"sortBy", 2, Op::kSortBy},
    Macro{"optMap", 2, Op::kOptionalMap},
    Macro{"optFlatMap", 2, Op::kOptionalFlatMap},
    Macro{"all", 3, Op::kAll, 2, 2},
    Macro{"exists", 3, Op::kExists, 2, 2},
    Macro{"exists_one", 3, Op::kExistsOne, 2, 2},
    Macro{"existsOne", 3, Op::kExistsOne, 2, 2},
    Macro{"transformList", 3, Op::kMapList, 2, 2},
    Macro{"transformList", 4, Op::kMapList, 2, 3, 2},
    Macro{"transformMap", 3, Op::kTransformMap, 2, 2},
    Macro{"transformMap", 4, Op::kTransformMap, 2, 3, 2},
    Macro{"transformMapEntry", 3, Op::kTransformEntry, 2, 2},
    Macro{"transformMapEntry", 4, Op::kTransformEntry, 2, 3, 2},
};

// null: no macro.
inline const Macro* FindMacro(std::string_view name, std::size_t arguments) {
  for (const Macro& macro : kMacros) {
    if (macro.name == name && macro.arguments == arguments) return &macro;
  }
  return nullptr;
}

// Whether the method is cel.bind(x, value, body).
inline bool IsBind(const Syntax& method) {
  return method.name == "bind" && method.arguments.size() == 3 &&
         method.target->form == Form::kName && method.target->name == "cel";
}

}  // namespace berth::cel
