// local/apiserver/registry/api_services.h — one APIService for every group version that is served,
// as Kubernetes' aggregator registers them.
//
// Nobody waits for the writes to reach the disk; after a crash the next start makes them again.
//
// Threads: any.
// Source: kube-aggregator, its autoregistration, restated.
#pragma once

#include <mutex>

#include "base/clock.h"
#include "local/apiserver/registry/catalog.h"
#include "local/apiserver/registry/identifiers.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

class ApiServices {
 public:
  ApiServices(Store& store, const Catalog& catalog, const Clock& clock, Identifiers& identifiers)
      : store_(store), catalog_(catalog), clock_(clock), identifiers_(identifiers) {}

  // From this call on, every group version that is served has an APIService.
  void Start();
  // Creates the missing APIServices of the catalog's group versions, and removes the APIServices of
  // custom kinds that are gone. Does nothing until Start is called.
  void Register();

 private:
  Store& store_;
  const Catalog& catalog_;
  const Clock& clock_;
  Identifiers& identifiers_;
  std::mutex mutex_;         // held while APIServices are written
  bool is_started_ = false;  // guarded by mutex_
};

}  // namespace berth::local
