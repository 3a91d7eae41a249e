#include "cli/page_flags.h"

#include "cli/open_id_flags.h"
#include "cli/proxy_flags.h"

namespace berth::cli {

Result<program::PageAccess> PageAccessOf(const ReadApiFlags& flags) {
  program::PageAccess access;
  access.actions = flags.actions;
  access.session_folder = flags.sessions;
  access.cluster_name = flags.cluster_name;
  BERTH_TRY(access.proxy, ProxyTrustOf(flags.proxy));
  BERTH_TRY(access.open_id, OpenIdOptionsOf(flags.open_id));
  return access;
}

}  // namespace berth::cli
