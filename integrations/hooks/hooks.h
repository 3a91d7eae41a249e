// integrations/hooks/hooks.h — the hooks of the built-in kinds, for the table in kind_hooks.cc.
//
// Threads: pure functions. Errors: as kind_hooks.h.
#pragma once

#include "integrations/kind_hooks.h"

namespace berth::integrations {

// ray.cc: what KubeRay adds to the head, and the submitter of a RayJob.
Result<nlohmann::json> RayClusterHead(const nlohmann::json& object,
                                      const nlohmann::json* pod_template);
Result<nlohmann::json> RayJobHead(const nlohmann::json& object, const nlohmann::json* pod_template);
Result<nlohmann::json> RayServiceHead(const nlohmann::json& object,
                                      const nlohmann::json* pod_template);
Result<nlohmann::json> RayJobSubmitter(const nlohmann::json& object,
                                       const nlohmann::json* pod_template);

const KindHook& AppWrapperHook();        // app_wrapper.cc: pods of wrapped objects
const KindHook& SparkApplicationHook();  // spark_application.cc: pods of flat fields
const KindHook& TrainJobHook();          // train_job.cc: pods of a runtime

}  // namespace berth::integrations
