/*===- coll/abi.h - What generated code and the runtime agree on ------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The one place where the layout of everything that crosses between a generated
 * object and the runtime is written down. It has two parts: what both touch
 * while launches run (coll/launch.h), and what an object holds (coll/plan.h).
 * The compiler takes every offset from there with offsetof, so no offset is
 * typed twice; static asserts at their ends make a silent change impossible.
 *
 * Lifetimes:   communicator  coll_comm_dev
 *              lane          rings, credit lines, coll_seq  (a channel's ends)
 *              plan on lane  coll_inst, coll_end[], coll_block[], step words
 *              launch        coll_args
 *              object        coll_plan and all it points to   (constant)
 *
 * All integers are little-endian. Sizes in bytes unless the name says
 * otherwise; a *unit* is 16 bytes of the launch's element type, or one row.
 *===----------------------------------------------------------------------===*/
#ifndef COLL_ABI_H
#define COLL_ABI_H

#include "coll/launch.h"
#include "coll/plan.h"

#endif
