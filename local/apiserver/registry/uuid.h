// local/apiserver/registry/uuid.h — random UUIDs (RFC 9562 version 4), for uids of objects, reviews
// and audit records. Not for secrets.
//
// Threads: `random` has one user at a time.
#pragma once

#include <string>

#include "base/random.h"

namespace berth::local {

// "061d2704-5c85-4794-9441-e3ab1616efbf", from the next two numbers of `random`.
std::string MakeUuid(Random& random);

}  // namespace berth::local
