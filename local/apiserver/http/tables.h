// local/apiserver/http/tables.h — the Table columns of `kubectl get`.
//
// Source: Kubernetes printers (names, order, words), restated; additionalPrinterColumns of CRDs.
#pragma once

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/resource_info.h"

namespace berth::local {

Json TableColumns(const ResourceInfo& resource);
Json TableCells(const ResourceInfo& resource, const Json& object, WallTime now);
// Row conditions: Completed on finished pods; empty otherwise.
Json RowConditions(const ResourceInfo& resource, const Json& object);

}  // namespace berth::local
