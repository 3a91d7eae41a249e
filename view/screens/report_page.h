// view/screens/report_page.h — `berth report -o html`: the accounts of a period as one page.
//
// The page is self-contained: it has no script and refers to no address. Its colors, light or dark,
// follow the reader's settings, and the page can be printed. Pure: data in, text out. Threads: pure
// functions. Errors: none.
#pragma once

#include <string>
#include <vector>

#include "ledger/accounts.h"

namespace berth::view {

// `heading` is the heading of the first column, such as "QUEUE".
std::string ReportPage(const std::vector<ledger::ReportLine>& lines, const std::string& heading,
                       const ledger::Period& period);

}  // namespace berth::view
