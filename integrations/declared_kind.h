// integrations/declared_kind.h — descriptions of kinds that users declare (JobKind): the fields of
// kind_description.h without those that need parts of Berth beside the description.
//
// Threads: pure functions. Errors: kInvalid with the path of the field, and the way out.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "integrations/kind_description.h"

namespace berth::integrations {

// `spec`: the spec of a JobKind. Its sample is not a part of the description.
Result<KindPtr> ParseDeclaredKind(const nlohmann::json& spec);

// The sample in the spec of a JobKind, an object of the kind (spec.sample); null: it has none.
const nlohmann::json* SampleOf(const nlohmann::json& spec);

// A whole JobKind as a user writes it in a file. A member that no JobKind has is an error.
Result<KindPtr> ParseJobKind(const nlohmann::json& object);

// Whether the object is of the kind, in any of its versions.
Status CheckIsOf(const KindDescription& kind, const nlohmann::json& object);

}  // namespace berth::integrations
