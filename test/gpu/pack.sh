#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: pack.sh BUILD FOLDER [--small]
#
# Makes FOLDER, which a machine with a CUDA driver and nothing else can run
# (run.sh): a program with the runtime, schedules and their device code in it, linked
# against the C library alone.  --small: few schedules, for tests of the script itself.

set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
root=$here/../..
build=$(readlink -f "$1") out=$2 small=${3:-}
llvm=${LLVM_BIN:-/usr/lib/llvm-22/bin}
cxx=${CXX:-c++}
mkdir -p "$out/pack"
out=$(readlink -f "$out")
work=$out/pack

# Cubins where there is an assembler; bitcode is what stand-in drivers run.
ranks=(--ranks 2 --ranks 4 --ranks 8) types=f32,bf16
targets=cuda:sm_80,cuda:sm_90,cuda:sm_100
if [[ $small ]]; then
  ranks=(--ranks 2 --ranks 3) types=f32 targets=cuda:sm_80
fi
export PATH=$build/bin:$PATH

# compile NAME FILE[:SCHEDULE], beside others
compile() {
  local -a schedule=()
  [[ $2 == *:* ]] && schedule=(--schedule "${2#*:}")
  colc "${2%%:*}" "${schedule[@]}" "${ranks[@]}" --dtypes "$types" --ops sum \
    --target=host,"$targets" --embed-bitcode -o "$work/$1" ${COLC_FLAGS:-} \
    >"$work/$1.log" 2>&1 || { cat "$work/$1.log" >&2; exit 1; }
}

library=$root/lib/Library
jobs=()
if [[ $small ]]; then
  compile ring "$root/examples/ring.coll" & jobs+=($!)
  compile lines_allreduce "$root/test/Emulator/Inputs/matrix.coll:lines_allreduce" & jobs+=($!)
  for each in root:broadcast_chain standard:std_send_recv standard:std_allgatherv \
    standard:std_alltoallv standard:std_barrier; do
    compile "${each#*:}" "$library/${each%%:*}.coll:${each#*:}" & jobs+=($!)
  done
else
  echo "compiling device code for sm_80, sm_90 and sm_100: some minutes" >&2
  compile standard "$library/standard.coll" & jobs+=($!)
  for each in ring:allreduce_ring tree:allreduce_double_tree tree:allreduce_rhd \
    nvls:allreduce_one_shot nvls:allreduce_two_shot root:reduce_tree; do
    compile "${each#*:}" "$library/${each%%:*}.coll:${each#*:}" & jobs+=($!)
  done
  # Nothing of the library asks for lines.
  for each in allreduce allgather reduce_scatter alltoall broadcast; do
    compile "lines_$each" "$root/test/Emulator/Inputs/matrix.coll:lines_$each" & jobs+=($!)
  done
fi
for job in "${jobs[@]}"; do wait "$job"; done
objects=("$work"/*.o)

# Litmus kernels: PTX that drivers translate, and bitcode.
"$llvm/llc" -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -mattr=+ptx78 "$here/litmus.ll" \
  -o "$work/litmus.ptx"
"$llvm/opt" "$here/litmus.ll" -o "$work/litmus.bc"

# The list of plans, and the litmus kernels as data.
mapfile -t plans < <(nm -g "${objects[@]}" | sed -n 's/.* [DRVB] \(.*_plan\)$/\1/p')
{
  printf '#include "Device.h"\n'
  printf 'extern "C" const coll_plan %s;\n' "${plans[@]}"
  printf 'const coll_plan *const coll::gpu::plans[] = {\n'
  printf '    &%s,\n' "${plans[@]}"
  printf '};\nconst unsigned coll::gpu::numPlans = %d;\n' "${#plans[@]}"
  printf '__asm__(".section .rodata\\n.balign 16\\n"\n'
  for image in litmusPtx:litmus.ptx litmusBitcode:litmus.bc; do
    printf '".globl %s\\n%s:\\n.incbin \\"%s\\"\\n.byte 0\\n.balign 16\\n"\n' \
      "${image%%:*}" "${image%%:*}" "$work/${image#*:}"
  done
  printf '".text\\n");\n'
} >"$work/plans.cpp"

"$cxx" -std=c++20 -O2 -I "$root" -I "$root/runtime/include" -I "$here" \
  "$here"/*.cpp "$work"/plans.cpp "${objects[@]}" \
  "$build/lib/libcoll.a" -static-libstdc++ -static-libgcc -lpthread -ldl \
  ${GPU_CHECK_FLAGS:-} -o "$out/gpu-check"
cp "$here/run.sh" "$out/run.sh"
# The newest C library that the program asks for.
objdump -T "$out/gpu-check" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1 >"$out/glibc"
rm -r "$work"
