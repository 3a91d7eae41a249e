// integrations/described_review.h — the rules of a described kind for the objects that users write:
// the kind's own errors, and the defaults that a review adds to a new object.
//
// Threads: pure functions. Errors: an expression that fails does not apply.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "integrations/kind_description.h"

namespace berth::integrations {

struct ReviewError {
  ReviewRule::Type type = ReviewRule::Type::kInvalid;
  std::string field;  // "spec.workerGroupSpecs[1].groupName"
  std::string value;  // in a message's form: text in quotes, JSON otherwise
  std::string message;
};

// `old`: null on create. `elastic`: the object asks for workload slices.
std::vector<ReviewError> ReviewErrors(const KindDescription& kind, const nlohmann::json& object,
                                      const nlohmann::json& old, bool elastic);

// Adds the defaults of a new object. `queued`: the object names a queue, or will name one.
void AddDefaults(const KindDescription& kind, bool queued, nlohmann::json& object);

// Whether the kind's rules leave the object to others.
bool IsSkipped(const KindDescription& kind, const nlohmann::json& object);

}  // namespace berth::integrations
