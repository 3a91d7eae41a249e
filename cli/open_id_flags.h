// cli/open_id_flags.h — the OpenID provider at which readers of the page sign in, from flags.
//
// Errors: kInvalid, kNotFound and kUnavailable name the flag, or the file.
#pragma once

#include "base/result.h"
#include "cli/server_flags.h"
#include "program/page_options.h"

namespace berth::cli {

// Without --read-api-openid-issuer there is no provider.
Result<program::OpenIdOptions> OpenIdOptionsOf(const OpenIdFlags& flags);

}  // namespace berth::cli
