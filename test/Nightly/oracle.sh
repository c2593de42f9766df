#!/usr/bin/env bash
# The checker against every interleaving of random regions and programs, and
# elaboration against a naive interpreter: test/Unit/Seeds.h. Each gets a share of
# the time.
set -euo pipefail
seconds=$1 seed=$2

tests=(ScheduleTests:Oracle.DeadlockInEveryInterleaving
       ScheduleTests:Oracle.RacesInEveryInterleaving
       ScheduleTests:Oracle.ProgramsInEveryInterleaving
       ScheduleTests:DirectOracle.EveryMixtureInEveryInterleaving
       AnalysisTests:RegionModel.AgreesWithQueues
       AnalysisTests:RandomSchedule.AgreesWithTheNaiveInterpreter)
scores=$(mktemp -d)
trap 'rm -rf "$scores"' EXIT
export COLL_TEST_SCORES=$scores COLL_TEST_SEEDS=$seed
export COLL_TEST_SECONDS=$((seconds / ${#tests[@]} + 1))
for entry in "${tests[@]}"; do
  log=$scores.log
  "build/bin/unit/${entry%%:*}" --gtest_filter="${entry#*:}" >"$log" 2>&1 ||
    { tail -n 60 "$log"; exit 1; }
done
rm -f "$scores.log"
cat "$scores"/*
awk '{total += $1} END {print total " cases"}' "$scores"/*
