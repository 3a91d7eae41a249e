// local/apiserver/http/table_cells.h — the cells of one row, kind by kind, in column order.
#pragma once

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local {

Json PodCells(const Json& pod, WallTime now);
Json JobCells(const Json& job, WallTime now);
Json DeploymentCells(const Json& deployment, WallTime now);
Json ReplicaSetCells(const Json& set, WallTime now);
Json ReplicationControllerCells(const Json& controller, WallTime now);
Json StatefulSetCells(const Json& set, WallTime now);
Json DaemonSetCells(const Json& set, WallTime now);
Json CronJobCells(const Json& cron_job, WallTime now);
Json ControllerRevisionCells(const Json& revision, WallTime now);
Json DisruptionBudgetCells(const Json& budget, WallTime now);
Json ResourceQuotaCells(const Json& quota, WallTime now);
Json ClaimCells(const Json& claim, WallTime now);
Json NodeCells(const Json& node, WallTime now);
Json NamespaceCells(const Json& object, WallTime now);
Json EventCells(const Json& event, WallTime now);
Json ConfigMapCells(const Json& object, WallTime now);
Json SecretCells(const Json& object, WallTime now);
Json ServiceAccountCells(const Json& object, WallTime now);
Json ServiceCells(const Json& object, WallTime now);
Json PodTemplateCells(const Json& object, WallTime now);
Json LeaseCells(const Json& object, WallTime now);
Json PriorityClassCells(const Json& object, WallTime now);
Json CrdCells(const Json& object, WallTime now);
Json WebhookCells(const Json& object, WallTime now);

// The functions below, and ClaimCells, are in stored_cells.cc.
Json VolumeCells(const Json& volume, WallTime now);
Json AutoscalerCells(const Json& autoscaler, WallTime now);
Json IngressCells(const Json& ingress, WallTime now);
Json IngressClassCells(const Json& object, WallTime now);
Json NetworkPolicyCells(const Json& policy, WallTime now);
Json StorageClassCells(const Json& object, WallTime now);
Json VolumeAttributesClassCells(const Json& object, WallTime now);
Json CsiDriverCells(const Json& driver, WallTime now);
Json CsiNodeCells(const Json& node, WallTime now);
Json CsiCapacityCells(const Json& capacity, WallTime now);
Json VolumeAttachmentCells(const Json& attachment, WallTime now);
Json ApiServiceCells(const Json& service, WallTime now);
Json CertificateRequestCells(const Json& request, WallTime now);
Json RuntimeClassCells(const Json& object, WallTime now);

}  // namespace berth::local
