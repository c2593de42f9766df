#!/usr/bin/env bash
# Every mutant of the schedules that --prove proves, then several mutations at
# once, for the given time: none that is wrong is proved.
set -euo pipefail
seconds=$1 seed=$2

PROOF_MUTATION=1 PROOF_FUZZ="$seconds:$seed" build/bin/unit/ProveTests --gtest_filter='ProofMutation.*' |
  tee build/proofs.log
grep -E '^[0-9]+ mutants$' build/proofs.log
