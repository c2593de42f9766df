#!/usr/bin/env bash
# Every coverage-guided fuzzer of test/Fuzz, each for the given time, from its
# corpus.  A finding stays in build-fuzz/found; what reached new code, in
# build-fuzz/corpus, from where a small new input may be added to the corpus.
set -euo pipefail
seconds=$1 seed=$2

cmake --preset fuzz >/dev/null
total=0
for folder in test/Fuzz/*/corpus; do
  name=$(basename "$(dirname "$folder")")
  fuzzer=coll-fuzz-$name
  ninja -C build-fuzz "$fuzzer" >/dev/null
  mkdir -p "build-fuzz/corpus/$name" "build-fuzz/found/$name"
  options=(-max_total_time="$seconds" -seed="$seed" -max_len=4096 -timeout=10
           -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0
           -artifact_prefix="build-fuzz/found/$name/")
  dictionary=$(find "test/Fuzz/$name" -name '*.dict')
  [[ -n $dictionary ]] && options+=(-dict="$dictionary")
  echo "$fuzzer: $seconds s"
  log=build-fuzz/$name.log
  "build-fuzz/bin/fuzz/$fuzzer" "${options[@]}" "build-fuzz/corpus/$name" "$folder" 2>"$log" ||
    { tail -n 40 "$log"; exit 1; }
  units=$(awk '/number_of_executed_units/ {print $2}' "$log")
  echo "$fuzzer: $units inputs"
  total=$((total + units))
done
echo "$total inputs"
