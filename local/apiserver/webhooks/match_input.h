// local/apiserver/webhooks/match_input.h — makes the values of a request that rules and selectors
// of webhooks and policies are matched with.
//
// Threads: any.
#pragma once

#include "local/apiserver/registry/admission.h"
#include "local/apiserver/store/store.h"
#include "local/apiserver/webhooks/match.h"

namespace berth::local {

// `object`: null on delete.
MatchInput MakeMatchInput(const Store& store, const AdmissionRequest& request, const Json* object);

// The namespace of the request's object; null for objects without a namespace, and if the namespace
// does not exist.
Object NamespaceOfRequest(const Store& store, const AdmissionRequest& request);

// The rights that the request needs, without the verb: `authorizer.requestResource`.
AccessAttributes ResourceOfRequest(const AdmissionRequest& request);

}  // namespace berth::local
