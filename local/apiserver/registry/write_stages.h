// local/apiserver/registry/write_stages.h — the stages that the verbs that change an object share.
//
// Threads: any; the stages lock what they must.
#pragma once

#include "base/clock.h"
#include "local/apiserver/registry/field_tracker.h"
#include "local/apiserver/registry/object_review.h"
#include "local/apiserver/registry/write_committer.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

// The stages must outlive the verbs.
struct WriteStages {
  const Store& store;  // read here, written by `committer`
  const Clock& clock;
  const FieldTracker& fields;
  const ObjectReview& review;
  WriteCommitter& committer;
};

}  // namespace berth::local
