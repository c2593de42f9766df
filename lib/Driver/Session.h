//===- Session.h - From a file to checked programs --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What colc and coll-run have in common: read a file, run the front end,
// execute a schedule for a rank space, compare it with its contract, schedule
// it, and verify the programs against what the source means. Everything that is
// wrong ends in `diags`, arguments of the command line included, so that one
// document of diagnostics has it all.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_DRIVER_SESSION_H
#define COLL_LIB_DRIVER_SESSION_H

#include "lib/Analysis/Elaborate.h"
#include "lib/Analysis/ProgramCheck.h"
#include "lib/Analysis/Report.h"
#include "lib/Analysis/Schedule.h"
#include "lib/Frontend/Sema.h"
#include "lib/Lowering/Formats.h"
#include "lib/Support/Slugs.h"
#include "mlir/IR/MLIRContext.h"

namespace coll {

/// The values are exit statuses; `worse` knows their order.
enum class Verdict : uint8_t { Right = 0, Wrong = 1, Usage = 2, Undecided = 3 };
Verdict worse(Verdict a, Verdict b);
/// Of one diagnostic: what is wrong may be the command line.
Verdict verdictOf(const Diagnostic &diagnostic);
/// The execution was given up as too large, which says nothing of the schedule.
bool isLimit(const Diagnostic &diagnostic);

using RankDims = std::vector<uint32_t>;
/// "4" or "(2, 4)".
std::string describe(const RankDims &dims);

/// A schedule at one rank space.
struct Instance {
  enum Status : uint8_t { Checked, Excluded, Failed } status = Failed;
  RankDims dims;
  std::vector<ChunkGraph> members; ///< one per launch member, if they are kept
  Agreement agreement = Agreement::Yes;
  std::string disagreement; ///< where ranks differ in bits
  std::string excludedBy;   ///< the condition of `where`
  uint64_t numMembers = 0, numValues = 0;
  /// Of so many slices one was checked, the others are it, turned; 1: all was.
  uint64_t numSlices = 1;
  std::optional<ScheduleResult> scheduled; ///< if programs were asked for
};

struct InstanceOptions {
  std::vector<std::pair<std::string, int64_t>> defines;
  /// Schedule the chunk graphs and verify the programs, if they have at most so
  /// many values together.
  uint64_t maxProgramValues = ~0ull;
  /// A verdict will do: no chunk graph is asked for beyond maxProgramValues.
  bool mayUseSymmetry = false;
  ScheduleOptions schedule;
  Limits limits; ///< of the execution
  /// Look for the change that makes a wrong schedule right.
  bool mayRepair = true;
  /// Kernels for devices are made: what is said of directives is of these.
  bool isForDevices = false;
  unsigned oldestChip = 0; ///< of these; 0: none, or not known
  /// What kernels are made of; empty: not known.
  std::vector<lowering::Format> dtypes;
  std::vector<lowering::ReduceOp> ops;
  /// Sets the former two by what kernels are made for.
  void setTargets(bool hasHost, unsigned chip);
  /// Something else that is done to the programs before they are verified.
  std::function<void(ScheduleResult &)> afterSchedule = nullptr;
};

class Session {
public:
  Session();

  /// Reads a file and what it imports; false: `diags` says why.
  bool parse(llvm::StringRef file, llvm::ArrayRef<std::string> directories);
  /// The same as `original` has read, but with `text` as the file.
  bool parseAs(const Session &original, std::string text);
  /// Analyses what was read; false: `diags` says why. `schedule`: only this
  /// one; empty: all of the file. Every define must be some schedule's.
  bool analyse(llvm::StringRef schedule,
               llvm::ArrayRef<std::pair<std::string, int64_t>> defines);
  /// What was read is all schedules of the file, because none was chosen.
  bool hasChosenAll() const { return choseAll; }
  const std::vector<Bytecode> &schedules() const { return codes; }
  mlir::ModuleOp module() { return *ir; }
  mlir::MLIRContext &context() { return mlirContext; }
  const Program &program() const { return syntax; }

  Instance instantiate(const Bytecode &code, const RankDims &dims,
                       const InstanceOptions &options);

  /// The second verification; it fails only by a bug of the compiler.
  void verifyPrograms(Instance &instance);

  /// An argument that does not fit; ends in exit status 2.
  InFlight usage(const llvm::Twine &message) {
    return diags.error(Slug::CommandLine, {}, message);
  }
  /// The worst of what `diags` has.
  Verdict verdict() const;

  SourceManager sources;
  DiagnosticEngine diags;

private:
  bool hasSchedule(llvm::StringRef name);
  bool checkDefine(llvm::StringRef name);
  bool checkSlice(const Bytecode &code, const Parameters &parameters,
                  Instance &instance, const InstanceOptions &options,
                  ElaborateResult &result);
  bool elaborateMembers(const Bytecode &code, Instance &instance,
                        const InstanceOptions &options);
  void makePrograms(const Bytecode &code, Instance &instance,
                    const InstanceOptions &options);

  mlir::MLIRContext mlirContext;
  std::string path;
  std::vector<std::string> libraryDirs;
  Program syntax;
  mlir::OwningOpRef<mlir::ModuleOp> ir;
  std::vector<Bytecode> codes;
  bool choseAll = true;
};

/// Says why there are no programs (ProgramWords.cpp).
void reportRefusal(DiagnosticEngine &diags, const Bytecode &code,
                   const Instance &instance);
/// Says what the second verification found: a bug of the compiler, always.
void reportProgramError(DiagnosticEngine &diags, const Instance &instance,
                        const ProgramError &error);

} // namespace coll
#endif // COLL_LIB_DRIVER_SESSION_H
