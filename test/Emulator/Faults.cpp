//===- Faults.cpp - One instruction that does less than it says -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Faults.h"

namespace coll::emu {

const char *nameOf(FaultKind kind) {
  switch (kind) {
  case FaultKind::None:
    return "none";
  case FaultKind::Relaxed:
    return "relaxed";
  case FaultKind::NoAcquire:
    return "no acquire";
  case FaultKind::NoRelease:
    return "no release";
  case FaultKind::Weak:
    return "weak";
  case FaultKind::Gpu:
    return "scope gpu";
  case FaultKind::Cta:
    return "scope cta";
  case FaultKind::Split:
    return "in parts";
  case FaultKind::Dropped:
    return "dropped";
  case FaultKind::Alone:
    return "vote of its own";
  case FaultKind::Always:
    return "always taken";
  case FaultKind::Never:
    return "never taken";
  }
  return "?";
}

static void addScopes(const Place &place, std::vector<FaultKind> &list) {
  if (place.scope > Scope::Gpu)
    list.push_back(FaultKind::Gpu);
  if (place.scope > Scope::Cta)
    list.push_back(FaultKind::Cta);
}

std::vector<FaultKind> faultsOf(const Place &place) {
  std::vector<FaultKind> list;
  switch (place.kind) {
  case PlaceKind::Load:
  case PlaceKind::Store:
    if (place.order != Order::Relaxed)
      list.push_back(FaultKind::Relaxed);
    list.push_back(FaultKind::Weak);
    addScopes(place, list);
    if (place.bytes >= 8)
      list.push_back(FaultKind::Split);
    if (place.kind == PlaceKind::Store)
      list.push_back(FaultKind::Dropped);
    break;
  case PlaceKind::Modify:
    if (place.order == Order::AcqRel || place.order == Order::SeqCst)
      list.insert(list.end(), {FaultKind::NoAcquire, FaultKind::NoRelease});
    else if (place.order != Order::Relaxed)
      list.push_back(FaultKind::Relaxed);
    list.push_back(FaultKind::Weak);
    addScopes(place, list);
    break;
  case PlaceKind::Fence:
    addScopes(place, list);
    list.push_back(FaultKind::Dropped);
    break;
  case PlaceKind::Barrier:
  case PlaceKind::WarpBarrier:
    list.push_back(FaultKind::Dropped);
    break;
  case PlaceKind::Vote:
    list.insert(list.end(), {FaultKind::Dropped, FaultKind::Alone});
    break;
  case PlaceKind::Branch:
    list.insert(list.end(), {FaultKind::Always, FaultKind::Never});
    break;
  }
  return list;
}

std::string whyEquivalent(const Place &place, FaultKind kind) {
  if (place.kind == PlaceKind::Modify && kind == FaultKind::NoRelease &&
      place.isInKernel && !place.mayFollowWrites)
    return "no write of its launch comes before it, so it releases nothing";
  if (place.kind == PlaceKind::Barrier && place.isAmongBarriers &&
      kind == FaultKind::Dropped)
    return "thread 0 alone touches memory between the barriers before and "
           "behind it";
  if (place.kind == PlaceKind::WarpBarrier && place.isTogether &&
      kind == FaultKind::Dropped)
    return "the warp's lanes come here together, from a vote or another "
           "barrier";
  if (place.asksAgain != FaultKind::None && place.asksAgain == kind)
    return "whoever goes this way waits for the word that it has loaded, and "
           "finds it there";
  if (place.goesOnBehind && kind == FaultKind::Always)
    return "the loop behind does all that this one leaves, in smaller steps";
  if (place.isLoadedAgain &&
      (kind == FaultKind::Relaxed || kind == FaultKind::NoAcquire))
    return "whoever calls this loads the word again, with acquire, before it "
           "goes on";
  // The sender's look at what the receiver has posted: that stays until the
  // receiver has the message, and it was acquired before.
  if (place.isReleasedBehind && place.kind == PlaceKind::Load)
    return "who writes the word anew waits for what is released behind this";
  if (place.looksAtRtr && place.kind == PlaceKind::Load)
    return "the receiver writes rtr anew only when it has the message that the "
           "kernel sends behind this";
  // What is left is that it is made.
  if (place.isCleaning && kind != FaultKind::Dropped)
    return "whoever loads the word later has acquired what is released behind "
           "this, and who has loaded it before has returned the slot's credit";
  return "";
}

} // namespace coll::emu
