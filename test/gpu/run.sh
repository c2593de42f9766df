#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: run.sh [--ranks N] [--quick] [--seconds S] [--elements N] [--only TEXT]
#
# Checks coll on the CUDA devices of this machine, in at most five minutes: litmus tests,
# every collective with several ranks (which share the device where there is one), graph
# replays, aborts; then latency and bandwidth.  `./dev gpu --pack FOLDER` makes the folder
# that this file is in.  Exit status 0: passed, 1: failed, 77: not run, as there is no
# device.

here=$(dirname "$(readlink -f "$0")")
seconds=300
needs=$(<"$here/glibc") has=$(getconf GNU_LIBC_VERSION)
has=${has##* }
if [[ $(printf '%s\n' "$needs" "$has" | sort -V | tail -n 1) != "$has" ]]; then
  echo "not run: packed for glibc $needs and newer, and this machine has $has: pack it on an older system"
  exit 77
fi
# The program leaves out what it has no time for; this is for when it does not answer.
for ((i = 1; i < $#; ++i)); do
  next=$((i + 1))
  if [[ ${!i} == --seconds ]]; then seconds=$((${!next%.*} + 20)); fi
done
# Where container runtimes put the driver, if the linker has not been told.
for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/wsl/lib; do
  if [[ -e $folder/libcuda.so.1 ]]; then
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
  fi
done
timeout --kill-after=10 "$seconds" "$here/gpu-check" "$@"
status=$?
if ((status == 124 || status == 137)); then
  echo "FAILED: not done after $seconds seconds"
  status=1
fi
exit "$status"
