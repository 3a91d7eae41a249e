// view/screens/report_page.h — `berth report -o html`: the accounts of a period as one page.
//
// The page needs nothing else: it has no script and no address. Light and dark follow the reader's
// settings, and the page prints.
// Pure: data in, text out. Threads: pure functions. Errors: none.
#pragma once

#include <string>
#include <vector>

#include "ledger/accounts.h"

namespace berth::view {

// `heading` is that of the first column, such as "QUEUE".
std::string ReportPage(const std::vector<ledger::ReportLine>& lines, const std::string& heading,
                       const ledger::Period& period);

}  // namespace berth::view
