// Goal: no text of a tenant acts on the terminal of an admin; readers of JSON get the same value.
// Method: a table of sequences with what each form shows.
#include "base/terminal_text.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(TerminalTextTest, ControlCharactersBecomeVisible) {
  struct TerminalRow {
    const char* text;
    const char* screen;
    const char* line;
  };
  const TerminalRow rows[] = {
      {"plain é 世 😀", "plain é 世 😀", "plain é 世 😀"},
      {"a\tb\nc", "a\tb\nc", "a\tb\\nc"},
      {"\x1b[2J\x1b[H", "^[[2J^[[H", "^[[2J^[[H"},
      {"\x1b]0;title\x07", "^[]0;title^G", "^[]0;title^G"},
      {"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m", "^[[31mred^[[0m"},
      {"\x1b[8mhidden", "^[[8mhidden", "^[[8mhidden"},
      {"\x1b[31;8mhidden", "^[[31;8mhidden", "^[[31;8mhidden"},
      {"csv\r\nrow", "csv\r\nrow", "csv^M\\nrow"},
      {"over\rwritten", "over^Mwritten", "over^Mwritten"},
      {"back\b\x7f", "back^H^?", "back^H^?"},
      {"\xC2\x9B"
       "2J",
       "<U+009B>2J", "<U+009B>2J"},
      {"\xE2\x80\xAE"
       "txt.exe",
       "<U+202E>txt.exe", "<U+202E>txt.exe"},
      {"\xE2\x81\xA6", "<U+2066>", "<U+2066>"},
      {"\xE2\x80\xA8", "<U+2028>", "<U+2028>"},
      {"\xFF\xC3", "<0xFF><0xC3>", "<0xFF><0xC3>"},
  };
  for (const TerminalRow& row : rows) {
    EXPECT_EQ(TerminalScreen(row.text), row.screen);
    EXPECT_EQ(TerminalLine(row.text), row.line);
  }
  EXPECT_EQ(TerminalScreen(std::string_view("\0", 1)), "^@");
}

TEST(TerminalTextTest, JsonEscapesControlCharacters) {
  EXPECT_EQ(TerminalJson("{\n  \"a\": \"\x7f\xC2\x9B\xE2\x80\xAEz\"\n}"),
            "{\n  \"a\": \"\\u007f\\u009b\\u202ez\"\n}");
}

}  // namespace
}  // namespace berth
