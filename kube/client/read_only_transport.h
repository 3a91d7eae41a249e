// kube/client/read_only_transport.h — a Transport that sends reads and watches alone.
//
// Reviews (POST of …reviews) pass: they are questions and store nothing.
//
// Threads: as Transport, on `executor`. The inner Transport and the executor must outlive it.
// Errors: kForbidden: the request was a write, and was not sent.
#pragma once

#include <memory>

#include "base/executor.h"
#include "kube/client/transport.h"

namespace berth::kube {

// Whether the request changes an object.
bool IsWrite(const ApiRequest& request);

std::unique_ptr<Transport> ReadOnly(Transport& inner, Executor& executor);

}  // namespace berth::kube
