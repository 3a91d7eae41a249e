#include "scenarios/junit.h"

#include <map>
#include <string_view>

#include <fmt/format.h>

namespace berth::scenarios {
namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\n') {
      out += "&#10;";  // a line break of an attribute is a blank
    } else if ((byte < 0x20 && c != '\t') || byte == 0x7F) {
      out += '?';
    } else {
      out += c;
    }
  }
  return out;
}

double Seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

std::string FolderOf(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? "scenarios" : name.substr(0, slash);
}

std::string CaseOf(const Outcome& outcome) {
  const std::size_t slash = outcome.name.rfind('/');
  std::string text = fmt::format(
      R"(    <testcase classname="{}" name="{}" file="{}" time="{:.3f}")",
      Escaped(FolderOf(outcome.name)),
      Escaped(slash == std::string::npos ? outcome.name : outcome.name.substr(slash + 1)),
      Escaped(outcome.file), Seconds(outcome.took));
  if (outcome.failure.empty()) return text + "/>\n";
  return text + fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                            Escaped(outcome.failure),
                            Escaped(fmt::format("{}:{}: {}\n{}\n{}", outcome.file, outcome.line,
                                                outcome.step, outcome.failure, outcome.story)));
}

}  // namespace

std::string JunitReport(const std::vector<Outcome>& outcomes) {
  struct Suite {
    std::size_t tests = 0;
    std::size_t failures = 0;
    Duration took{};
    std::string cases;
  };
  std::map<std::string, Suite> suites;
  Suite all;
  for (const Outcome& outcome : outcomes) {
    Suite& suite = suites[FolderOf(outcome.name)];
    for (Suite* sum : {&suite, &all}) {
      ++sum->tests;
      if (!outcome.failure.empty()) ++sum->failures;
      sum->took += outcome.took;
    }
    suite.cases += CaseOf(outcome);
  }
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"berth\" tests=\"{}\" failures=\"{}\" time=\"{:.3f}\">\n",
      all.tests, all.failures, Seconds(all.took));
  for (const auto& [name, suite] : suites) {
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\""
        " time=\"{:.3f}\">\n{}  </testsuite>\n",
        Escaped(name), suite.tests, suite.failures, Seconds(suite.took), suite.cases);
  }
  return text + "</testsuites>\n";
}

}  // namespace berth::scenarios
