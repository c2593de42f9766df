//===- DirectWait.h - When the arrival of puts is awaited -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that receives what is put waits for it, or leaves that to the end of
// the launch. Lowering asks here which (StepTable.cpp), and so does the proof,
// for which a message that is awaited at the end orders nothing
// (DirectCheck.h).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_DIRECTWAIT_H
#define COLL_LIB_ANALYSIS_DIRECTWAIT_H

#include "lib/Analysis/ProgramDeadlock.h"

#include <map>

namespace coll {

/// Of one rank in one variant, while its program lives.
class DirectWait {
public:
  DirectWait(const ProgramMember &member, Rank rank, Variant variant);
  /// Does the step do nothing but receive a put into a region that nothing
  /// touches afterwards, and tells nobody that it has? Then its arrival matters
  /// only when the launch ends.
  bool isDeferred(uint32_t block, uint32_t step) const;

private:
  using Part = std::pair<uint32_t, uint32_t>; // buffer, part
  /// Parts that share memory are one.
  std::pair<Part, uint32_t> regionOf(const Location &where) const;

  const RankProgram &program;
  std::map<Part, Part> aliases;
  /// The steps that touch a region, as (block, step).
  std::map<std::pair<Part, uint32_t>,
           std::vector<std::pair<uint32_t, uint32_t>>>
      uses;
  /// By block: from which step on nothing is sent, and no other block waits for
  /// a step. A message or a signal after the receive puts others in order
  /// behind it.
  std::vector<uint32_t> silentFrom;
};

/// By rank and port of a variant: receives that, in some mixture of messages
/// that go direct and others, wait for nothing that their sender has done. All
/// gets, whose sender need only have entered the launch, and puts that are
/// deferred, here or in the other variant: ranks are in place each by itself.
std::vector<std::vector<bool>> unorderedReceives(const ProgramMember &member,
                                                 Variant variant);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_DIRECTWAIT_H
