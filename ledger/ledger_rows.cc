#include "ledger/ledger_rows.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace berth::ledger {
namespace {

void TakeText(std::string& known, const std::string& told) {
  if (!told.empty()) known = told;
}

// A fact of an attempt happens once: pods that are ready again do not start again.
void TakeTime(std::optional<Seconds>& known, const std::optional<Seconds>& told) {
  if (!known) known = told;
}

// An outcome is stated once: the first stays.
template <typename T>
void TakeOutcome(T& row, const T& record) {
  if (!row.outcome.empty() || record.outcome.empty()) return;
  row.ended = record.ended;
  row.outcome = record.outcome;
  row.reason = record.reason;
  row.message = record.message;
}

}  // namespace

AttemptRecord ReadAttempt(const Statement& row) {
  AttemptRecord out;
  int column = 0;
  out.uid = row.Text(column++);
  out.attempt = row.Int(column++);
  for (std::string* text : {&out.namespace_name, &out.name, &out.owner_kind, &out.owner_name,
                            &out.local_queue, &out.cluster_queue}) {
    *text = row.Text(column++);
  }
  out.priority = row.Int(column++);
  out.labels = row.Text(column++);
  out.created = row.Int(column++);
  out.queued = row.Int(column++);
  for (auto* time : {&out.reserved, &out.admitted, &out.started, &out.ended}) {
    *time = row.MaybeInt(column++);
  }
  for (std::string* text : {&out.outcome, &out.reason, &out.message, &out.preemptor, &out.user}) {
    *text = row.Text(column++);
  }
  out.hourly_nano = row.MaybeInt(column++);
  out.image = row.Text(column++);
  out.declared = row.MaybeInt(column++);
  out.checkpoint = row.MaybeInt(column++);
  return out;
}

QuotaRecord ReadQuota(const Statement& row) {
  return {.cluster_queue = std::string(row.Text(0)),
          .resource = std::string(row.Text(1)),
          .since = row.Int(2),
          .nominal = row.Int(3)};
}

PoolSampleRecord ReadPoolSample(const Statement& row) {
  return {.pool = std::string(row.Text(0)),
          .from = row.Int(2),
          .span = row.Int(1),
          .seconds = row.Int(3),
          .ready = row.Int(4),
          .booting = row.Int(5),
          .idle = row.Int(6),
          .idle_seconds = row.Int(7)};
}

void BindAttempt(const AttemptRecord& record, Statement& statement) {
  int position = 1;
  const auto text = [&](const std::string& value) {
    statement.Bind(position++, std::string_view(value));
  };
  text(record.uid);
  statement.Bind(position++, record.attempt);
  for (const std::string* value :
       {&record.namespace_name, &record.name, &record.owner_kind, &record.owner_name,
        &record.local_queue, &record.cluster_queue}) {
    text(*value);
  }
  statement.Bind(position++, record.priority);
  text(record.labels);
  statement.Bind(position++, record.created);
  statement.Bind(position++, record.queued);
  for (const auto* time : {&record.reserved, &record.admitted, &record.started, &record.ended}) {
    statement.Bind(position++, *time);
  }
  for (const std::string* value :
       {&record.outcome, &record.reason, &record.message, &record.preemptor, &record.user}) {
    text(*value);
  }
  statement.Bind(position++, record.hourly_nano);
  text(record.image);
  statement.Bind(position++, record.declared);
  statement.Bind(position++, record.checkpoint);
}

CapacityRecord ReadRequest(const Statement& row) {
  CapacityRecord out;
  int column = 0;
  for (std::string* text :
       {&out.uid, &out.namespace_name, &out.name, &out.class_name, &out.workload}) {
    *text = row.Text(column++);
  }
  out.created = row.Int(column++);
  out.provisioned = row.MaybeInt(column++);
  out.ended = row.MaybeInt(column++);
  for (std::string* text : {&out.outcome, &out.reason, &out.message}) *text = row.Text(column++);
  return out;
}

void BindRequest(const CapacityRecord& record, Statement& statement) {
  int position = 1;
  for (const std::string* text :
       {&record.uid, &record.namespace_name, &record.name, &record.class_name, &record.workload}) {
    statement.Bind(position++, std::string_view(*text));
  }
  statement.Bind(position++, record.created);
  statement.Bind(position++, record.provisioned);
  statement.Bind(position++, record.ended);
  for (const std::string* text : {&record.outcome, &record.reason, &record.message}) {
    statement.Bind(position++, std::string_view(*text));
  }
}

NodeTimeRecord ReadNodeTime(const Statement& row) {
  NodeTimeRecord out;
  int column = 0;
  for (std::string* text :
       {&out.id, &out.node, &out.pool, &out.class_name, &out.namespace_name, &out.local_queue,
        &out.cluster_queue, &out.workload, &out.workload_uid}) {
    *text = row.Text(column++);
  }
  out.from = row.Int(column++);
  out.until = row.Int(column++);
  out.gpus = row.Int(column++);
  out.hourly_nano = row.MaybeInt(column++);
  out.stands = row.Int(column++) != 0;
  return out;
}

void BindNodeTime(const NodeTimeRecord& record, Statement& statement) {
  int position = 1;
  for (const std::string* text :
       {&record.id, &record.node, &record.pool, &record.class_name, &record.namespace_name,
        &record.local_queue, &record.cluster_queue, &record.workload, &record.workload_uid}) {
    statement.Bind(position++, std::string_view(*text));
  }
  statement.Bind(position++, record.from);
  statement.Bind(position++, record.until);
  statement.Bind(position++, record.gpus);
  statement.Bind(position++, record.hourly_nano);
  statement.Bind(position++, static_cast<std::int64_t>(record.stands ? 1 : 0));
}

void BindQuota(const QuotaRecord& record, Statement& statement) {
  statement.Bind(1, std::string_view(record.cluster_queue));
  statement.Bind(2, std::string_view(record.resource));
  statement.Bind(3, record.since).Bind(4, record.nominal);
}

void BindPoolSample(const PoolSampleRecord& record, Statement& statement) {
  statement.Bind(1, std::string_view(record.pool)).Bind(2, record.span).Bind(3, record.from);
  statement.Bind(4, record.seconds).Bind(5, record.ready).Bind(6, record.booting);
  statement.Bind(7, record.idle).Bind(8, record.idle_seconds);
}

AttemptRecord Merged(AttemptRecord row, const AttemptRecord& record) {
  TakeText(row.owner_kind, record.owner_kind);
  TakeText(row.owner_name, record.owner_name);
  TakeText(row.local_queue, record.local_queue);
  TakeText(row.cluster_queue, record.cluster_queue);
  TakeText(row.labels, record.labels);
  TakeText(row.preemptor, record.preemptor);
  TakeText(row.user, record.user);
  TakeText(row.image, record.image);
  if (record.declared) row.declared = record.declared;
  if (record.checkpoint) row.checkpoint = record.checkpoint;
  if (!row.hourly_nano) row.hourly_nano = record.hourly_nano;
  row.priority = record.priority;
  if (row.queued == 0) row.queued = record.queued;
  TakeTime(row.reserved, record.reserved);
  TakeTime(row.admitted, record.admitted);
  TakeTime(row.started, record.started);
  TakeOutcome(row, record);
  return row;
}

NodeTimeRecord Merged(NodeTimeRecord row, const NodeTimeRecord& record) {
  for (const auto& [known, told] :
       {std::pair{&row.pool, &record.pool}, std::pair{&row.class_name, &record.class_name},
        std::pair{&row.cluster_queue, &record.cluster_queue},
        std::pair{&row.workload_uid, &record.workload_uid}}) {
    TakeText(*known, *told);
  }
  row.gpus = std::max(row.gpus, record.gpus);
  if (!row.hourly_nano) row.hourly_nano = record.hourly_nano;
  if (record.until < row.until) return row;
  row.from = record.from;
  row.until = record.until;
  row.stands = record.stands;
  return row;
}

CapacityRecord Merged(CapacityRecord row, const CapacityRecord& record) {
  TakeText(row.workload, record.workload);
  TakeTime(row.provisioned, record.provisioned);
  TakeOutcome(row, record);
  return row;
}

}  // namespace berth::ledger
