// program/page_options.h — how readers sign in to the page and the read API that the program
// serves.
#pragma once

#include "readapi/controller/page_access.h"

namespace berth::program {

using OpenIdOptions = readapi::OpenIdOptions;
using PageAccess = readapi::PageAccess;

}  // namespace berth::program
