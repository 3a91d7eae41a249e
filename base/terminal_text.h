// base/terminal_text.h — texts of tenants on the terminal of an admin: names, images and messages
// may hold sequences that move the cursor, hide text or answer for the keyboard. Pure.
//
// Control characters become visible: ^[ for ESC, <U+009B> for C1, for line separators and for
// characters that reorder a line (bidirectional overrides and isolates), <0xFF> for a byte that is
// no UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// A screen: keeps line ends (\n, \r\n), tabs, and the styles that view/screens/text.h paints (ESC [
// 0, 1, 2, 31, 32 or 33 m).
std::string TerminalScreen(std::string_view text);

// One line, as of a log: line ends become \n.
std::string TerminalLine(std::string_view text);

// JSON text, which is UTF-8: the characters above as \u escapes, so that readers get the same
// value.
std::string TerminalJson(std::string_view json);

}  // namespace berth
