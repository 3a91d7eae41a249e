// integrations/kind_catalogue.h — the built-in job kinds: the descriptions in kinds/*.yaml,
// compiled into the program.
//
// Threads: any; the first call reads the descriptions.
#pragma once

#include <string_view>
#include <vector>

#include "integrations/kind_description.h"

namespace berth::integrations {

// In the order of their frameworks' names. Without batch/job, which has code (batch_job.h).
const std::vector<KindPtr>& BuiltInKinds();

// The kind of that framework name ("jobset.x-k8s.io/jobset"); null: none.
KindPtr FindBuiltInKind(std::string_view framework);

}  // namespace berth::integrations
