#!/usr/bin/env bash
# Mutants of the programs of all schedules, at every stage of scheduling, with
# other seeds: each is caught, or runs right.
set -euo pipefail
seconds=$1 seed=$2

scores=$(mktemp -d)
trap 'rm -rf "$scores" "$scores.log"' EXIT
export COLL_TEST_SCORES=$scores
total=0
for ((round = 0; SECONDS < seconds; ++round)); do
  for entry in ScheduleTests:Mutation.NothingIsMissed \
               LibraryTests:LibraryMutation.NothingIsMissed; do
    MUTATION=$((seed + round)):10 "build/bin/unit/${entry%%:*}" \
      --gtest_filter="${entry#*:}" >"$scores.log" 2>&1 ||
      { tail -n 60 "$scores.log"; exit 1; }
  done
  total=$((total + $(awk '{total += $1} END {print total}' "$scores"/*)))
done
cat "$scores"/*
echo "$total mutants"
