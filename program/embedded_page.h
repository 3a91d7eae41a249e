// program/embedded_page.h — the files of the page, which the build makes of dashboard/ and embeds.
//
// Without Node.js, or with BERTH_DASHBOARD=OFF, the only file is a document that says so.
#pragma once

#include <vector>

#include "readapi/controller/page_files.h"

namespace berth::program {

const std::vector<readapi::PageFile>& EmbeddedPage();

}  // namespace berth::program
