#include "view/screens/history_screen.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/gpu_shares.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "view/screens/reason.h"

namespace berth::view {
namespace {

using ledger::AttemptRecord;
using ledger::CapacityRecord;
using ledger::ReportLine;
using ledger::Seconds;
using nlohmann::json;

constexpr double kSecondsOfHour = 3600;
constexpr double kNanoPerUsd = 1e9;
constexpr const char* kOutcomes[] = {ledger::kSucceeded, ledger::kFailed,  ledger::kPreempted,
                                     ledger::kEvicted,   ledger::kDeleted, ledger::kFinished};

std::string Span(Seconds seconds) { return HumanDuration(std::chrono::seconds(seconds)); }
std::string Time(Seconds seconds) { return FormatTime(ledger::FromSeconds(seconds)); }
double Hours(Seconds seconds) { return static_cast<double>(seconds) / kSecondsOfHour; }
std::string Two(double number) { return fmt::format("{:.2f}", number); }

std::string HoursText(const std::map<std::string, double>& hours) {
  const bool has_gpus = hours.count(api::kGpusResource) > 0;
  std::vector<std::string> parts;
  for (const auto& [resource, amount] : hours) {
    if (has_gpus && api::IsGpuResource(resource)) continue;  // GPUs, not shares of them
    parts.push_back(resource + "=" + Two(amount));
  }
  return parts.empty() ? "-" : Join(parts, " ");
}

std::string JobOf(const AttemptRecord& attempt) {
  if (attempt.owner_kind.empty()) return "workload/" + attempt.name;
  return ToLower(attempt.owner_kind) + "/" + attempt.owner_name;
}

std::string WaitsOf(const AttemptRecord& attempt, Seconds now) {
  std::vector<std::string> parts;
  for (const ledger::WaitPart& part : ledger::WaitParts(attempt, now)) {
    parts.push_back(part.cause + " " + Span(part.to - part.from));
  }
  return parts.empty() ? "-" : Join(parts, ", ");
}

std::string RanOf(const AttemptRecord& attempt, Seconds now) {
  if (!attempt.admitted) return "-";
  return Span(attempt.ended.value_or(now) - *attempt.admitted);
}

std::string ResourcesOf(const AttemptRecord& attempt) {
  std::vector<std::string> parts;
  for (const ledger::ResourceUse& use : attempt.resources) {
    parts.push_back(use.resource + "=" + ShowFinite(use.resource, use.amount) +
                    (use.flavor.empty() ? "" : " (" + use.flavor + ")"));
  }
  return parts.empty() ? "-" : Join(parts, " ");
}

std::string PreemptorOf(const AttemptRecord& attempt, const HistoryView& view) {
  const auto found = view.preemptors.find(attempt.preemptor);
  return found == view.preemptors.end() ? attempt.preemptor : found->second;
}

std::string StateOf(const AttemptRecord& attempt) {
  if (!attempt.outcome.empty()) return attempt.outcome;
  if (attempt.admitted) return "running";
  return attempt.reserved ? "reserved" : "waiting";
}

std::string OutcomeOf(const AttemptRecord& attempt, const HistoryView& view) {
  std::string text = StateOf(attempt);
  if (!attempt.reason.empty() && attempt.reason != attempt.outcome) {
    text += " (" + attempt.reason + ")";
  }
  if (!attempt.preemptor.empty()) text += " for " + PreemptorOf(attempt, view);
  return text;
}

std::string RequestOutcome(const CapacityRecord& request) {
  if (!request.outcome.empty()) return request.outcome;
  return request.provisioned ? "Provisioned" : "waiting";
}

json MaybeTime(const std::optional<Seconds>& time) {
  return time ? json(Time(*time)) : json(nullptr);
}

double Usd(std::int64_t nano) { return static_cast<double>(nano) / kNanoPerUsd; }
json MaybeNumber(const std::optional<double>& number) {
  return number ? json(*number) : json(nullptr);
}
json MaybeUsd(const std::optional<std::int64_t>& nano) {
  return nano ? json(Usd(*nano)) : json(nullptr);
}

json AttemptJson(const AttemptRecord& attempt, const HistoryView& view) {
  const Seconds now = ledger::ToSeconds(view.now);
  json waits = json::array();
  for (const ledger::WaitPart& part : ledger::WaitParts(attempt, now)) {
    waits.push_back(
        {{"cause", part.cause}, {"from", Time(part.from)}, {"seconds", part.to - part.from}});
  }
  json resources = json::array();
  for (const ledger::ResourceUse& use : attempt.resources) {
    resources.push_back({{"resource", use.resource},
                         {"flavor", use.flavor},
                         {"amount", use.amount},
                         {"unit", UnitOf(use.resource)}});
  }
  return {{"namespace", attempt.namespace_name},
          {"workload", attempt.name},
          {"uid", attempt.uid},
          {"job", JobOf(attempt)},
          {"attempt", attempt.attempt},
          {"localQueue", attempt.local_queue},
          {"clusterQueue", attempt.cluster_queue},
          {"priority", attempt.priority},
          {"labels", attempt.labels},
          {"user", attempt.user},
          {"usdPerHour", MaybeUsd(attempt.hourly_nano)},
          {"created", Time(attempt.created)},
          {"queued", Time(attempt.queued)},
          {"quotaReserved", MaybeTime(attempt.reserved)},
          {"admitted", MaybeTime(attempt.admitted)},
          {"podsReady", MaybeTime(attempt.started)},
          {"ended", MaybeTime(attempt.ended)},
          {"outcome", attempt.outcome},
          {"reason", attempt.reason},
          {"message", attempt.message},
          {"preemptor", attempt.preemptor.empty() ? "" : PreemptorOf(attempt, view)},
          {"waits", std::move(waits)},
          {"resources", std::move(resources)},
          {"destroyedHours", ledger::DestroyedHours(attempt, now)}};
}

// The name of a user is chosen by whoever made the account.
std::string NoFormula(const std::string& text) {
  constexpr std::string_view kBegins = "=+-@\t\r";
  if (ParseInt64(text)) return text;  // a priority
  const bool is_formula = !text.empty() && kBegins.find(text.front()) != std::string_view::npos;
  return is_formula ? "'" + text : text;
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::int64_t CountOf(const ReportLine& line, const char* outcome) {
  const auto found = line.outcomes.find(outcome);
  return found == line.outcomes.end() ? 0 : found->second;
}

std::string RenderRequests(const HistoryView& view, const TextStyle& style) {
  if (view.requests.empty()) return "";
  const Seconds now = ledger::ToSeconds(view.now);
  TextTable table({{"REQUESTED"}, {"NAMESPACE"}, {"REQUEST"}, {"CLASS"}, {"WAITED"}, {"OUTCOME"}});
  for (const CapacityRecord& request : view.requests) {
    const Seconds until = request.provisioned.value_or(request.ended.value_or(now));
    table.AddRow({Time(request.created), request.namespace_name, request.name, request.class_name,
                  Span(until - request.created), RequestOutcome(request)});
  }
  return "\n" + table.Render(style);
}

}  // namespace

std::string RenderHistory(const HistoryView& view, const TextStyle& style) {
  if (view.attempts.empty() && view.requests.empty()) return "the ledger has nothing of that\n";
  const Seconds now = ledger::ToSeconds(view.now);
  // What was lost has a column where some attempt lost something.
  const bool lost =
      std::any_of(view.attempts.begin(), view.attempts.end(),
                  [now](const auto& each) { return !ledger::DestroyedHours(each, now).empty(); });
  std::vector<Column> columns{
      {"QUEUED"}, {"NAMESPACE"},          {"JOB"},       {"ATTEMPT", Align::kRight},
      {"QUEUE"},  {"RAN", Align::kRight}, {"RESOURCES"}, {"OUTCOME"}};
  if (lost) columns.push_back({"LOST (HOURS)"});
  columns.push_back({"WAITED FOR"});
  TextTable table(std::move(columns));
  for (const AttemptRecord& attempt : view.attempts) {
    std::vector<std::string> cells{Time(attempt.queued), attempt.namespace_name,
                                   JobOf(attempt),       std::to_string(attempt.attempt),
                                   attempt.local_queue,  RanOf(attempt, now),
                                   ResourcesOf(attempt), OutcomeOf(attempt, view)};
    if (lost) cells.push_back(HoursText(ledger::DestroyedHours(attempt, now)));
    cells.push_back(WaitsOf(attempt, now));
    table.AddRow(std::move(cells));
  }
  return (table.empty() ? "" : table.Render(style)) + RenderRequests(view, style);
}

json HistoryJson(const HistoryView& view) {
  json attempts = json::array();
  for (const AttemptRecord& attempt : view.attempts) attempts.push_back(AttemptJson(attempt, view));
  json requests = json::array();
  for (const CapacityRecord& request : view.requests) {
    requests.push_back({{"namespace", request.namespace_name},
                        {"name", request.name},
                        {"uid", request.uid},
                        {"class", request.class_name},
                        {"workload", request.workload},
                        {"created", Time(request.created)},
                        {"provisioned", MaybeTime(request.provisioned)},
                        {"ended", MaybeTime(request.ended)},
                        {"outcome", request.outcome},
                        {"reason", request.reason},
                        {"message", request.message}});
  }
  json nodes = json::array();
  for (const ledger::NodeTimeRecord& node : view.nodes) {
    nodes.push_back({{"node", node.node},
                     {"pool", node.pool},
                     {"class", node.class_name},
                     {"namespace", node.namespace_name},
                     {"workload", node.workload},
                     {"from", Time(node.from)},
                     {"until", Time(node.until)},
                     {"seconds", node.until - node.from},
                     {"gpus", node.gpus},
                     {"usdPerHour", MaybeUsd(node.hourly_nano)},
                     {"stands", node.stands}});
  }
  return {{"attempts", std::move(attempts)},
          {"capacityRequests", std::move(requests)},
          {"nodes", std::move(nodes)}};
}

namespace {

bool HasNodes(const ReportLine& line) { return !line.charged_hours.empty(); }
bool HasCost(const ReportLine& line) { return line.cost_nano > 0; }
bool HasStops(const ReportLine& line) { return line.stops.stops > 0 || line.stops.unmeasured > 0; }

// "12 cost 20h, claimed 6h", with "+3?" where too few jobs are like that of three stops.
std::string StopsText(const ledger::StopCosts& stops) {
  std::string text = "-";
  if (stops.stops > 0) {
    text = std::to_string(stops.stops) + " cost " + Span(stops.lost) + ", claimed " +
           Span(stops.claimed);
  }
  return text + (stops.unmeasured == 0 ? "" : " +" + std::to_string(stops.unmeasured) + "?");
}

// "12.35", "12.35 +2?" where two nodes or attempts have no price.
std::string CostText(const ReportLine& line) {
  if (!HasCost(line)) return "-";
  const std::string more = line.unpriced == 0 ? "" : " +" + std::to_string(line.unpriced) + "?";
  return Two(Usd(line.cost_nano)) + more;
}

json MaybeSeconds(const std::optional<Seconds>& time) { return time ? json(*time) : json(nullptr); }

json CapacityLinesJson(const std::vector<ledger::CapacityLine>& lines) {
  json list = json::array();
  for (const ledger::CapacityLine& line : lines) {
    json parts = json::array();
    for (const ledger::CapacityCounts& each : line.parts) {
      parts.push_back({{"asked", each.asked},
                       {"provisioned", each.provisioned},
                       {"failed", each.failed},
                       {"stockouts", each.stockouts},
                       {"open", each.open},
                       {"p50WaitSeconds", MaybeSeconds(each.p50)},
                       {"p90WaitSeconds", MaybeSeconds(each.p90)}});
    }
    json hours = json::array();
    for (const ledger::HourCounts& each : line.hours) {
      hours.push_back({{"answered", each.answered},
                       {"provisioned", each.provisioned},
                       {"stockouts", each.stockouts}});
    }
    list.push_back({{"key", line.key}, {"parts", std::move(parts)}, {"hours", std::move(hours)}});
  }
  return list;
}

}  // namespace

// Stops, charges and costs have columns where some line has them.
TextTable ReportTable(const std::vector<ReportLine>& lines, const std::string& heading) {
  const bool charged = std::any_of(lines.begin(), lines.end(), HasNodes);
  const bool priced = std::any_of(lines.begin(), lines.end(), HasCost);
  const bool stopped = std::any_of(lines.begin(), lines.end(), HasStops);
  std::vector<Column> columns{{heading},
                              {"WORKLOADS", Align::kRight},
                              {"ATTEMPTS", Align::kRight},
                              {"SUCCEEDED", Align::kRight},
                              {"FAILED", Align::kRight},
                              {"PREEMPTED", Align::kRight},
                              {"EVICTED", Align::kRight},
                              {"WAITED", Align::kRight},
                              {"WAITED (HOURS)"},
                              {"USED (HOURS)"},
                              {"DESTROYED (HOURS)"}};
  if (stopped) columns.push_back({"STOPS WITH CHECKPOINTS"});
  if (charged) columns.push_back({"CHARGED (HOURS)"});
  if (priced) columns.push_back({"COST (USD)", Align::kRight});
  TextTable table(columns);
  for (const ReportLine& line : lines) {
    std::vector<std::string> cells{line.key.empty() ? "-" : line.key,
                                   std::to_string(line.workloads),
                                   std::to_string(line.attempts),
                                   std::to_string(CountOf(line, ledger::kSucceeded)),
                                   std::to_string(CountOf(line, ledger::kFailed)),
                                   std::to_string(CountOf(line, ledger::kPreempted)),
                                   std::to_string(CountOf(line, ledger::kEvicted)),
                                   Span(line.waited),
                                   HoursText(line.waited_hours),
                                   HoursText(line.used_hours),
                                   HoursText(line.destroyed_hours)};
    if (stopped) cells.push_back(StopsText(line.stops));
    if (charged) cells.push_back(HoursText(line.charged_hours));
    if (priced) cells.push_back(CostText(line));
    table.AddRow(cells);
  }
  return table;
}

std::string RenderReport(const std::vector<ReportLine>& lines, const std::string& heading,
                         const TextStyle& style) {
  if (lines.empty()) return "the ledger has nothing of that time\n";
  return ReportTable(lines, heading).Render(style);
}

json ReportJson(const std::vector<ReportLine>& lines, const ledger::Period& period,
                const std::string& by) {
  json out = json::array();
  for (const ReportLine& line : lines) {
    out.push_back({{"key", line.key},
                   {"workloads", line.workloads},
                   {"attempts", line.attempts},
                   {"outcomes", line.outcomes},
                   {"waits", line.waits},
                   {"waitedHours", Hours(line.waited)},
                   {"waitedHoursByResource", line.waited_hours},
                   {"usedHours", line.used_hours},
                   {"destroyedHours", line.destroyed_hours},
                   {"stops",
                    {{"measured", line.stops.stops},
                     {"unmeasured", line.stops.unmeasured},
                     {"claimedHours", Hours(line.stops.claimed)},
                     {"lostHours", Hours(line.stops.lost)}}},
                   {"chargedHours", line.charged_hours},
                   {"costUsd", Usd(line.cost_nano)},
                   {"measuredUsd", Usd(line.measured_nano)},
                   {"unpriced", line.unpriced}});
  }
  return {
      {"by", by}, {"from", Time(period.from)}, {"to", Time(period.to)}, {"lines", std::move(out)}};
}

namespace {

json TimesJson(const std::vector<ledger::Period>& times) {
  json list = json::array();
  for (const ledger::Period& each : times) {
    list.push_back({{"from", Time(each.from)}, {"to", Time(each.to)}});
  }
  return list;
}

json ReportPartsJson(const std::vector<ledger::ReportPart>& parts) {
  json list = json::array();
  for (const ledger::ReportPart& part : parts) {
    list.push_back({{"waitedHours", Hours(part.waited)},
                    {"usedHours", part.used_hours},
                    {"destroyedHours", part.destroyed_hours},
                    {"chargedHours", part.charged_hours},
                    {"costUsd", Usd(part.cost_nano)}});
  }
  return list;
}

json AmountsJson(const std::map<std::string, api::Amount>& amounts) {
  json list = json::array();
  for (const auto& [resource, amount] : amounts) {
    list.push_back({{"resource", resource}, {"unit", UnitOf(resource)}, {"amount", amount}});
  }
  return list;
}

}  // namespace

json ReportHistoryJson(const ledger::ReportHistory& history, const std::string& by) {
  json lines = json::array();
  for (const ledger::ReportHistoryLine& line : history.lines) {
    lines.push_back({{"key", line.key}, {"parts", ReportPartsJson(line.parts)}});
  }
  return {{"by", by},
          {"times", TimesJson(history.times)},
          {"lines", std::move(lines)},
          {"others", ReportPartsJson(history.others)},
          {"otherLines", history.other_lines}};
}

json CohortHistoryJson(
    const std::string& cohort, const std::vector<ledger::Period>& times,
    const std::map<std::string, std::vector<ledger::HistoryPart>>& parts_by_queue) {
  json queues = json::array();
  for (const auto& [queue, parts] : parts_by_queue) {
    const bool used = std::any_of(parts.begin(), parts.end(),
                                  [](const auto& part) { return !part.used.empty(); });
    if (!used) continue;
    json shares = json::array();
    for (const ledger::HistoryPart& part : parts)
      shares.push_back({{"used", AmountsJson(part.used)}});
    queues.push_back({{"clusterQueue", queue}, {"parts", std::move(shares)}});
  }
  return {{"cohort", cohort}, {"times", TimesJson(times)}, {"queues", std::move(queues)}};
}

json QueueHistoryJson(const std::string& queue, const std::vector<ledger::HistoryPart>& parts) {
  json list = json::array();
  for (const ledger::HistoryPart& part : parts) {
    list.push_back({{"from", Time(part.from)},
                    {"to", Time(part.to)},
                    {"admitted", part.admitted},
                    {"preempted", part.preempted},
                    {"p50WaitSeconds", MaybeSeconds(part.p50)},
                    {"p90WaitSeconds", MaybeSeconds(part.p90)},
                    {"used", AmountsJson(part.used)},
                    {"quota", AmountsJson(part.quota)}});
  }
  return {{"clusterQueue", queue}, {"parts", std::move(list)}};
}

json WorkloadStatesJson(const ledger::StreamedStates& states,
                        const std::vector<std::map<std::string, api::Amount>>& quotas) {
  // Two digits after the point: a mean has no more to say.
  const auto round = [](double mean) { return std::round(mean * 100) / 100; };
  json parts = json::array();
  const std::vector<ledger::StatePart> known = states.Parts();
  for (std::size_t i = 0; i < known.size(); ++i) {
    const ledger::StatePart& part = known[i];
    std::map<std::string, double> waiting;
    for (const auto& [reason, mean] : part.waiting) {
      if (reason != api::kDeactivated) waiting[CauseOf(reason)] += mean;
    }
    for (auto& [cause, mean] : waiting) mean = round(mean);
    parts.push_back({{"waiting", waiting},
                     {"reserved", round(part.reserved)},
                     {"running", round(part.running)},
                     {"used", AmountsJson(part.used)},
                     {"quota", AmountsJson(quotas[i])}});
  }
  return {{"times", TimesJson(states.times())}, {"parts", std::move(parts)}};
}

json CapacityHistoryJson(const ledger::CapacityHistory& history,
                         const std::vector<ledger::PriceRecord>& prices,
                         const ledger::Period& period) {
  json pools = json::array();
  for (const ledger::PoolLine& line : history.pools) {
    json parts = json::array();
    for (const ledger::PoolPart& part : line.parts) {
      parts.push_back({{"standing", part.standing},
                       {"ready", MaybeNumber(part.ready)},
                       {"booting", MaybeNumber(part.booting)},
                       {"idle", MaybeNumber(part.idle)},
                       {"costUsd", part.cost_nano / kNanoPerUsd}});
    }
    pools.push_back({{"pool", line.pool}, {"parts", std::move(parts)}});
  }
  json known = json::array();
  for (std::size_t i = 0; i < prices.size(); ++i) {
    const bool has_next = i + 1 < prices.size() && prices[i + 1].flavor == prices[i].flavor;
    if (prices[i].since > period.to || (has_next && prices[i + 1].since <= period.from)) continue;
    known.push_back({{"flavor", prices[i].flavor},
                     {"since", Time(prices[i].since)},
                     {"usdPerHour", MaybeUsd(prices[i].hourly_nano)}});
  }
  return {{"times", TimesJson(history.times)},
          {"classes", CapacityLinesJson(history.classes)},
          {"shapes", CapacityLinesJson(history.shapes)},
          {"pools", std::move(pools)},
          {"prices", std::move(known)},
          {"linesLeftOut", history.left_out}};
}

std::string ReportCsv(const std::vector<ReportLine>& lines, const std::string& by) {
  std::set<std::string> resources;
  for (const ReportLine& line : lines) {
    for (const auto& [resource, hours] : line.used_hours) resources.insert(resource);
    for (const auto& [resource, hours] : line.waited_hours) resources.insert(resource);
  }
  std::vector<std::string> heading{by, "workloads", "attempts"};
  for (const char* outcome : kOutcomes) heading.push_back(ToLower(outcome));
  heading.insert(heading.end(), {"waits", "waited hours"});
  for (const std::string& resource : resources) {
    heading.push_back(resource + " hours waited");
    heading.push_back(resource + " hours used");
    heading.push_back(resource + " hours destroyed");
  }
  heading.insert(heading.end(), {"node hours charged", "gpu hours charged", "cost usd",
                                 "cost usd measured", "unpriced", "stops with checkpoints",
                                 "hours lost at most by claims", "hours lost"});
  std::string text;
  const auto add = [&text](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + Quoted(cells[i]);
    text += "\r\n";
  };
  add(heading);
  const auto hours_of = [](const std::map<std::string, double>& hours,
                           const std::string& resource) {
    const auto found = hours.find(resource);
    return fmt::format("{:.4f}", found == hours.end() ? 0.0 : found->second);
  };
  for (const ReportLine& line : lines) {
    std::vector<std::string> cells{NoFormula(line.key), std::to_string(line.workloads),
                                   std::to_string(line.attempts)};
    for (const char* outcome : kOutcomes) cells.push_back(std::to_string(CountOf(line, outcome)));
    cells.push_back(std::to_string(line.waits));
    cells.push_back(fmt::format("{:.4f}", Hours(line.waited)));
    for (const std::string& resource : resources) {
      cells.push_back(hours_of(line.waited_hours, resource));
      cells.push_back(hours_of(line.used_hours, resource));
      cells.push_back(hours_of(line.destroyed_hours, resource));
    }
    cells.push_back(hours_of(line.charged_hours, ledger::kNodes));
    cells.push_back(hours_of(line.charged_hours, api::kGpusResource));
    for (const std::int64_t nano : {line.cost_nano, line.measured_nano}) {
      cells.push_back(fmt::format("{:.4f}", Usd(nano)));
    }
    cells.push_back(std::to_string(line.unpriced));
    cells.push_back(std::to_string(line.stops.stops));
    for (const Seconds time : {line.stops.claimed, line.stops.lost}) {
      cells.push_back(fmt::format("{:.4f}", Hours(time)));
    }
    add(cells);
  }
  return text;
}

}  // namespace berth::view
