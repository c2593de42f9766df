//===- Launch.cpp - coll_launch and coll_launch_prepare -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Api.h"
#include "runtime/core/Lane.h"

using namespace coll;

/// Is everything there that a lane looks into?
static Status checkPointers(const coll_plan *plan, const coll_call *call,
                            const coll_comm *comm) {
  COLL_TRY(checkHandle(comm));
  const char *missing = !plan ? "the plan" : !call ? "the call" : nullptr;
  return missing ? Status::error(COLL_INVALID, "%s is null", missing)
                 : Status::ok();
}

coll_status coll_launch(const coll_plan *plan, const coll_call *call,
                        coll_comm *comm, coll_stream stream) {
  return guarded([&]() -> Status {
    COLL_TRY(checkPointers(plan, call, comm));
    return Lane::of(*comm).launch(*plan, *call, stream);
  });
}

coll_status coll_launch_prepare(const coll_plan *plan, const coll_call *call,
                                coll_comm *comm) {
  return guarded([&]() -> Status {
    COLL_TRY(checkPointers(plan, call, comm));
    return Lane::of(*comm).prepare(*plan, *call);
  });
}

coll_status coll_use(coll_comm *comm, const coll_plan *plan) {
  return guarded([&]() -> Status {
    coll_call none = {};
    COLL_TRY(checkPointers(plan, &none, comm));
    return Lane::of(*comm).use(*plan);
  });
}
