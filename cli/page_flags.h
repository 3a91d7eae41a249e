// cli/page_flags.h — how readers sign in to the page and the read API, from flags.
//
// Errors: as ProxyTrustOf and OpenIdOptionsOf.
#pragma once

#include "base/result.h"
#include "cli/server_flags.h"
#include "program/page_options.h"

namespace berth::cli {

Result<program::PageAccess> PageAccessOf(const ReadApiFlags& flags);

}  // namespace berth::cli
