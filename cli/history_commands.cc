#include "cli/history_commands.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "base/go_duration.h"
#include "base/strings.h"
#include "base/system_clock.h"
#include "base/terminal_text.h"
#include "cli/ledger_flags.h"
#include "ledger/ledger_reader.h"
#include "program/data_directory.h"
#include "view/output.h"
#include "view/screens/history_screen.h"
#include "view/screens/report_page.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using ledger::ReportBy;
using ledger::Seconds;

std::string FileOf(const LedgerPlace& place) {
  if (!place.ledger.empty()) return place.ledger;
  if (place.data_dir.empty()) {
    if (std::string beside = LedgerBeside(place.kubeconfig); !beside.empty()) return beside;
  }
  return program::DataDirectory(place.data_dir) + "/" + kLedgerName;
}

Result<ledger::LedgerReader> OpenLedger(const LedgerPlace& place) {
  const std::string file = FileOf(place);
  Result<ledger::LedgerReader> reader = ledger::LedgerReader::Open(file);
  if (reader || reader.error().code != ErrorCode::kNotFound) return reader;
  return Error{ErrorCode::kNotFound,
               reader.error().message +
                   ": name the file with --ledger, as `berth controller --ledger FILE` has it, or "
                   "the data directory of `berth up` with --data-dir"};
}

// "7d", "2w", or Go's notation.
Result<Seconds> ParseSpan(const std::string& text) {
  constexpr Seconds kDay = 86'400;
  constexpr Seconds kWeek = 7 * kDay;
  constexpr Seconds kMost = 100 * 365 * kDay;
  std::optional<Seconds> span;
  if (!text.empty() && (text.back() == 'd' || text.back() == 'w')) {
    const auto number = ParseInt64(std::string_view(text).substr(0, text.size() - 1));
    const Seconds unit = text.back() == 'd' ? kDay : kWeek;
    if (number && *number > 0 && *number <= kMost / unit) span = *number * unit;
  } else if (const auto duration = ParseGoDuration(text)) {
    span = std::chrono::floor<std::chrono::seconds>(*duration).count();
  }
  if (span && *span > 0) return *span;
  return Error{ErrorCode::kInvalid,
               "--since \"" + text + "\": write a time above zero, such as 7d, 2w or 12h"};
}

Result<ledger::HistoryFilter> FilterOf(const std::string& reference) {
  ledger::HistoryFilter filter;
  const std::size_t slash = reference.find('/');
  if (slash == std::string::npos) {
    filter.name = reference;
    return filter;
  }
  const std::string kind = ToLower(reference.substr(0, slash));
  const std::string name = reference.substr(slash + 1);
  if (kind.empty() || name.empty() || name.find('/') != std::string::npos) {
    return Error{ErrorCode::kInvalid, "\"" + reference + "\": write job/NAME, KIND/NAME, " +
                                          "workload/NAME or queue/NAME"};
  }
  if (kind == "queue" || kind == "localqueue" || kind == "clusterqueue") {
    filter.queue = name;
  } else {
    filter.owner_kind = kind;
    filter.name = name;
  }
  return filter;
}

// Empty: all.
std::vector<std::string> NamespacesOf(const std::string& name) {
  return name.empty() ? std::vector<std::string>() : std::vector<std::string>{name};
}

Result<view::HistoryView> ReadHistory(const HistoryFlags& flags) {
  view::HistoryView view;
  view.now = SystemClock().Now();
  BERTH_TRY(ledger::HistoryFilter filter, FilterOf(flags.reference));
  filter.namespaces = NamespacesOf(flags.namespace_name);
  if (!flags.since.empty()) {
    BERTH_TRY(const Seconds span, ParseSpan(flags.since));
    filter.since = ledger::ToSeconds(view.now) - span;
  }
  BERTH_TRY(ledger::LedgerReader reader, OpenLedger(flags.place));
  BERTH_TRY(view.attempts, reader.Attempts(filter));
  BERTH_TRY(view.requests, reader.Requests(filter));
  BERTH_TRY(view.nodes, reader.NodeTimes(filter));
  if (!flags.reference.empty()) {
    std::set<std::pair<std::string, std::string>> workloads;
    for (const auto& attempt : view.attempts) {
      workloads.insert({attempt.namespace_name, attempt.name});
    }
    std::erase_if(view.requests, [&](const ledger::CapacityRecord& request) {
      return !workloads.contains({request.namespace_name, request.workload});
    });
    std::erase_if(view.nodes, [&](const ledger::NodeTimeRecord& node) {
      return !workloads.contains({node.namespace_name, node.workload});
    });
  }
  for (const auto& attempt : view.attempts) {
    if (attempt.preemptor.empty() || view.preemptors.contains(attempt.preemptor)) continue;
    BERTH_TRY(const std::optional<std::string> name, reader.NameOf(attempt.preemptor));
    if (name) view.preemptors[attempt.preemptor] = *name;
  }
  return view;
}

struct Grouping {
  ReportBy by = ReportBy::kQueue;
  std::string label;
  std::string heading;
};

Result<Grouping> GroupingOf(const std::string& by) {
  constexpr std::string_view kLabel = "label=";
  if (by.starts_with(kLabel) && by.size() > kLabel.size()) {
    return Grouping{ReportBy::kLabel, by.substr(kLabel.size()), by.substr(kLabel.size())};
  }
  static constexpr std::pair<const char*, ReportBy> kKinds[] = {
      {"queue", ReportBy::kQueue},         {"clusterqueue", ReportBy::kClusterQueue},
      {"namespace", ReportBy::kNamespace}, {"priority", ReportBy::kPriority},
      {"user", ReportBy::kUser},           {"pool", ReportBy::kPool},
      {"cause", ReportBy::kCause},         {"preemptor", ReportBy::kPreemptor}};
  for (const auto& [name, kind] : kKinds) {
    if (by == name) return Grouping{kind, "", by};
  }
  if (by == "team") return Grouping{ReportBy::kLabel, by, by};
  const std::string ways =
      "queue, clusterqueue, namespace, priority, user, pool, cause, preemptor, team or label=KEY";
  return Error{ErrorCode::kInvalid, "--by \"" + by + "\": write " + ways};
}

Result<std::string> ReportText(const ReportFlags& flags) {
  BERTH_TRY(Grouping grouping, GroupingOf(flags.by));
  BERTH_TRY(const Seconds span, ParseSpan(flags.since));
  const Seconds now = ledger::ToSeconds(SystemClock().Now());
  const ledger::Period period{now - span, now};
  BERTH_TRY(ledger::LedgerReader reader, OpenLedger(flags.place));
  BERTH_TRY(
      const auto attempts,
      reader.Attempts({.since = period.from, .namespaces = NamespacesOf(flags.namespace_name)}));
  BERTH_TRY(const auto nodes, reader.NodeTimes({.since = period.from,
                                                .namespaces = NamespacesOf(flags.namespace_name)}));
  auto lines = ledger::MakeReport(attempts, nodes, grouping.by, grouping.label, period);
  if (grouping.by == ReportBy::kPreemptor) {
    for (ledger::ReportLine& line : lines) {
      BERTH_TRY(std::optional<std::string> name, reader.NameOf(line.key));
      if (name) line.key = *std::move(name);
    }
  }
  if (flags.output == "csv") return view::ReportCsv(lines, grouping.heading);
  if (flags.output == "json")
    return TerminalJson(api::FormatIndentedJson(view::ReportJson(lines, period, flags.by))) + "\n";
  for (char& c : grouping.heading) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  if (flags.output == "html") return view::ReportPage(lines, grouping.heading, period);
  return view::RenderReport(lines, grouping.heading, view::DetectStyle(false));
}

int ComplainOf(const Error& error) {
  view::Complain(error);
  return error.code == ErrorCode::kInvalid ? view::kExitUsage : view::kExitRefused;
}

}  // namespace

std::string LedgerBeside(const std::string& kubeconfig) {
  std::string path = kubeconfig;
  if (path.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
    const char* variable = std::getenv("KUBECONFIG");
    if (variable != nullptr) path = Split(variable, ':').front();
  }
  if (path.empty()) return "";
  const std::string file = (fs::absolute(path).parent_path() / kLedgerName).string();
  std::error_code error;
  return fs::exists(file, error) ? file : "";
}

int RunHistory(const HistoryFlags& flags) {
  const Result<view::HistoryView> view = ReadHistory(flags);
  if (!view) return ComplainOf(view.error());
  if (flags.output == view::OutputFormat::kText) {
    view::Print(view::RenderHistory(*view, view::DetectStyle(flags.ascii)));
  } else {
    view::PrintStructured(view::HistoryJson(*view), flags.output);
  }
  const bool nothing = view->attempts.empty() && view->requests.empty();
  return nothing && !flags.reference.empty() ? view::kExitRefused : view::kExitAnswered;
}

int RunReport(const ReportFlags& flags) {
  const Result<std::string> text = ReportText(flags);
  if (!text) return ComplainOf(text.error());
  view::Print(*text);
  return view::kExitAnswered;
}

}  // namespace berth::cli
