// cel/cost_estimate.h — what the evaluation of an expression costs at most, before it is evaluated.
//
//     EstimateCost("self.words.all(w, w.startsWith('a'))", {{"self", spec}}, spec)
//       words with 100 items at most: 100 times the cost of the predicate, and more
//
// The unit is Kubernetes': one for a selection or a call, a tenth for a character that is read.
// Types say how large values can be (Type::max_elements). Kubernetes refuses rules by this number,
// so that it has the numbers of Kubernetes also where another one would be nearer to the truth:
// keys of maps cost nothing, for instance.
//
// Pure; threads: any. The largest number stands for larger ones, and for an unknown size.
// Errors: kInvalid for what is no expression.
// Source: k8s.io/apiserver pkg/cel/library (cost.go), cel-go checker (cost.go) and ext, restated.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "cel/check.h"

namespace berth::cel {

// Precondition: the expression compiles, and its types fit. `root`: the type at which paths of
// properties begin, whatever the variable is.
Result<std::uint64_t> EstimateCost(std::string_view text, const TypedVariables& variables,
                                   const TypePtr& root, const Limits& limits = {});

}  // namespace berth::cel
