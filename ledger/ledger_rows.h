// ledger/ledger_rows.h — columns of the tables ⇄ records, and the merge of a record with its row.
//
// Threads: pure functions on their arguments. Errors: none.
#pragma once

#include "base/sqlite/sqlite.h"
#include "ledger/records.h"

namespace berth::ledger {

// The columns of `attempt` in the order of ReadAttempt and BindAttempt.
inline constexpr char kAttemptColumns[] =
    "uid,attempt,namespace,name,owner_kind,owner_name,local_queue,cluster_queue,priority,labels,"
    "created,queued,reserved,admitted,started,ended,outcome,reason,message,preemptor,user,"
    "hourly_nano,image,declared,checkpoint";
inline constexpr char kRequestColumns[] =
    "uid,namespace,name,class,workload,created,provisioned,ended,outcome,reason,message";
inline constexpr char kNodeTimeColumns[] =
    "id,node,pool,class,namespace,local_queue,cluster_queue,workload,uid,since,until,gpus,"
    "hourly_nano,stands";
inline constexpr char kQuotaColumns[] = "cluster_queue,resource,since,nominal";
inline constexpr char kPoolSampleColumns[] =
    "pool,span,since,seconds,ready,booting,idle,idle_seconds";

// The record has no resources and waits yet.
AttemptRecord ReadAttempt(const Statement& row);
CapacityRecord ReadRequest(const Statement& row);
NodeTimeRecord ReadNodeTime(const Statement& row);
QuotaRecord ReadQuota(const Statement& row);
PoolSampleRecord ReadPoolSample(const Statement& row);
// `record` must outlive the statement's run.
void BindAttempt(const AttemptRecord& record, Statement& statement);
void BindRequest(const CapacityRecord& record, Statement& statement);
void BindNodeTime(const NodeTimeRecord& record, Statement& statement);
void BindQuota(const QuotaRecord& record, Statement& statement);
void BindPoolSample(const PoolSampleRecord& record, Statement& statement);

// Returns `row` with the facts that `record` adds. A row that has ended stays ended.
AttemptRecord Merged(AttemptRecord row, const AttemptRecord& record);
CapacityRecord Merged(CapacityRecord row, const CapacityRecord& record);
NodeTimeRecord Merged(NodeTimeRecord row, const NodeTimeRecord& record);

}  // namespace berth::ledger
