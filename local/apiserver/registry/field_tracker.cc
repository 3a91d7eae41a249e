#include "local/apiserver/registry/field_tracker.h"

#include <string>

#include "local/apiserver/registry/status_errors.h"

namespace berth::local {

void FieldTracker::Track(const RequestContext& context, const Json* live, Json& object) const {
  const ResourceInfo& resource = *context.resource;
  if (resource.type == nullptr) return;
  TrackUpdate(live, object, ManagerOf(context));
}

ManagerContext FieldTracker::ManagerOf(const RequestContext& context) const {
  const ResourceInfo& resource = *context.resource;
  ManagerContext manager;
  manager.type = resource.type;
  manager.api_version = resource.api_version();
  manager.manager = context.manager;
  manager.subresource = context.subresource;
  manager.now = clock_.Now();
  if (context.subresource == "status") {
    manager.reset_fields = ResetAllButStatus(manager.api_version);
  } else if (resource.has_status) {
    manager.reset_fields = ResetStatus();
  }
  if (resource.crd != nullptr) {
    const ResourcePtr kept = context.resource;
    manager.convert = [this, kept](const Json& object,
                                   const std::string& api_version) -> ApiResult<Json> {
      // Managed fields may name any number of versions: no copy is made for one that is none.
      const std::size_t slash = api_version.find('/');
      const bool is_known = slash != std::string::npos &&
                            api_version.compare(0, slash, kept->id.group) == 0 &&
                            kept->crd->versions.contains(api_version.substr(slash + 1));
      if (!is_known) return BadRequest("unknown version " + api_version);
      return converter_.ConvertOne(*kept, object, api_version);
    };
  }
  return manager;
}

}  // namespace berth::local
