// ledger/accounts.h — the accounts of a period: attempts → one line for each queue, namespace, or
// cause.
//
// used:       amount × time from the admission to the end of the attempt (or of the period)
// destroyed:  used of attempts that ended as Preempted or Evicted: what they computed is
//             lost unless the job keeps checkpoints
// charged:    time of nodes for Workloads of the line, and that time × their GPUs: boots and idle
//             times too (provisioning/meter.h)
// cost:       the price of these nodes; for a Workload without a measured node, the price of
//             its reservation × the time of `used`
// waited:     time from the queueing to the admission, of each attempt, and that time × what the
//             attempt asks for
// stops:      what stops of jobs with checkpoints cost (ledger/stop_costs.h); a job counts in the
//             period in which it ends, if all its attempts are known
// Only the time within the period counts. Amounts are in units of the resource's hours: CPU hours,
// GiB hours of memory-like resources, GPU hours.
//
// Threads: pure functions; a StreamedReport belongs to one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ledger/records.h"
#include "ledger/stop_costs.h"

namespace berth::ledger {

struct Period {
  Seconds from = 0;
  Seconds to = 0;
};

// The period in so many parts of equal length, but for the rounding to seconds. A part of no length
// is left out.
std::vector<Period> Divided(const Period& period, std::int64_t parts);

struct ReportLine {
  std::string key;             // such as the queue's name; empty: no key
  std::int64_t workloads = 0;  // Workloads with an attempt in the period
  std::int64_t attempts = 0;
  // Outcomes of the attempts that ended in the period.
  std::map<std::string, std::int64_t> outcomes;
  Seconds waited = 0;
  std::int64_t waits = 0;                         // attempts that waited, or waits of the cause
  std::map<std::string, double> waited_hours;     // resource → hours of the time `waited`
  std::map<std::string, double> used_hours;       // resource → hours
  std::map<std::string, double> destroyed_hours;  // resource → hours
  std::map<std::string, double> charged_hours;    // kNodes, api::kGpusResource → hours
  std::int64_t cost_nano = 0;                     // billionths of USD, saturating
  std::int64_t measured_nano = 0;                 // the part of cost_nano for measured nodes
  StopCosts stops;                                // those of jobs with checkpoints
  std::int64_t unpriced = 0;  // nodes, and attempts without measured nodes, with no price
  friend bool operator==(const ReportLine&, const ReportLine&) = default;
};

inline constexpr char kNodes[] = "nodes";  // a key of ReportLine::charged_hours

enum class ReportBy {
  kQueue,
  kClusterQueue,
  kNamespace,
  kPriority,
  kLabel,
  kUser,
  kPool,
  kCause,
  kPreemptor
};

// `label`: the label's key, for kLabel. The lines are in the order of keys. By cause, a line is
// either a cause of waits ("wait: WaitingForQuota", with waited and waits alone) or of ends ("end:
// Preempted"). By preemptor, the lines count the attempts that were preempted in the period, by the
// uid of the Workload for which they were preempted. By pool, the lines count nodes alone. By cause
// and by preemptor, nodes and costs do not count. A node whose Workload has no attempt in
// `attempts` goes to the line of its queue or namespace, else to the line without a key.
std::vector<ReportLine> MakeReport(const std::vector<AttemptRecord>& attempts,
                                   const std::vector<NodeTimeRecord>& nodes, ReportBy by,
                                   const std::string& label, const Period& period);

// Makes the report of MakeReport from attempts that come one by one. The attempts of a Workload
// must come in the order of their numbers.
class StreamedReport {
 public:
  StreamedReport(const std::vector<NodeTimeRecord>& nodes, ReportBy by, const std::string& label,
                 const Period& period);
  ~StreamedReport();
  StreamedReport(const StreamedReport&) = delete;
  StreamedReport& operator=(const StreamedReport&) = delete;

  void Add(const AttemptRecord& attempt);
  std::vector<ReportLine> Lines();  // call once, after all attempts

 private:
  class Report;
  std::unique_ptr<Report> report_;
};

// The parts of the attempt's wait, with the cause of each. Behind the reservation the causes are
// "AdmissionChecks" (until Admitted) and "PodsReady" (until PodsReady). `now`: the end of a part
// that has not ended.
struct WaitPart {
  std::string cause;
  Seconds from = 0;
  Seconds to = 0;
  friend bool operator==(const WaitPart&, const WaitPart&) = default;
};
std::vector<WaitPart> WaitParts(const AttemptRecord& attempt, Seconds now);

// The hours, by resource, that an attempt used in vain until `now`, since it was preempted or
// evicted; empty for other attempts.
std::map<std::string, double> DestroyedHours(const AttemptRecord& attempt, Seconds now);

// Hours of `amount` of the resource for this time, in the unit above.
double ResourceHours(const std::string& resource, api::Amount amount, Seconds time);

}  // namespace berth::ledger
