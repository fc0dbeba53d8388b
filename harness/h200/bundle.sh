#!/usr/bin/env bash
# Builds attest for another machine and packs all that its device run needs (harness/h200/README.md).
usage() {
  cat <<'USAGE'
usage: harness/h200/bundle.sh [--jobs N] [--march M] [--mutants WHAT] OUT.tar.xz

Packs the program, the GPU's test programs, code objects, sources and mutants of the kernels, corpus, golden files and
shared libraries into OUT.tar.xz, which needs no compiler and no package where it is unpacked:
  tar -xf OUT.tar.xz && attest-h200/run-attest list
It builds in build/portable and needs nvcc for the sm_90 code objects.
  --march M      host processor; default: x86-64-v3, any with AVX2. The host of an H200 has AVX-512 (x86-64-v4), with
                 which the reference is about twice as fast
  --jobs N       processes of the build and of xz; default: all processors
  --mutants W    what `run.sh selftest` runs is built here: launchers (default: clang's part; the other machine has nvcc
                 and many processors for the rest), all (an hour of nvcc on two processors), none
USAGE
}
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/portable
stage=$build/attest-h200
limit_mib=60

say() { printf 'bundle: %s\n' "$*" >&2; }
die() { say "$1"; exit "${2:-4}"; }

jobs=$(nproc) mutants=launchers march=x86-64-v3 out=
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --jobs) jobs=${2-}; [[ $jobs =~ ^[1-9][0-9]*$ ]] || die "--jobs takes a number" 2; shift ;;
    --march) march=${2-}; [[ $march ]] || die "--march takes a processor" 2; shift ;;
    --no-mutants) mutants=none ;;
    --mutants) mutants=${2-}; [[ $mutants =~ ^(launchers|all|none)$ ]] || die "--mutants takes launchers, all or none" 2; shift ;;
    -*) usage >&2; die "no such option: $1" 2 ;;
    *) [[ -z $out ]] || die "one bundle at a time: $out, $1" 2; out=$1 ;;
  esac
  shift
done
[[ $out ]] || { usage >&2; die "name the bundle: OUT.tar.xz" 2; }
[[ $out == *.tar.xz ]] || die "name it .tar.xz: $out" 2
folder=$(dirname -- "$out")
[[ -d $folder ]] || die "there is no folder $folder"
out=$(cd -- "$folder" && pwd)/$(basename -- "$out")

configure() {
  cmake -S "$root" --preset host -B "$build" -DATTEST_TESTS=ON -DATTEST_MARCH="$march" -DATTEST_MOVABLE=ON \
    -DATTEST_STATIC_LLVM=ON -DATTEST_CUDA=ON "-DCMAKE_BUILD_RPATH=\$ORIGIN/../lib" \
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags,--as-needed" >"$build.log" 2>&1 ||
    { tail -n 20 "$build.log" >&2; die "cmake failed (above; all of it in $build.log)"; }
}

# The GPU's test programs that this tree has, and all code objects.
targets_like() { ninja -C "$build" -t targets all | sed -nE "s/^($1): phony\$/\1/p" | sort -u; }

# Shared libraries of the programs in bin/, but for glibc's own: those are the machine's.
libraries() {
  ldd "$stage"/bin/* | sed -nE 's/^\s+\S+ => (\/\S+) .*/\1/p' | sort -u |
    grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv)\.so'
}

assemble() {
  rm -rf "$stage"
  mkdir -p "$stage"/{bin,lib,harness/core,fuzz}
  cp "${@/#/$build/bin/}" "$stage/bin/"
  strip "$stage"/bin/*
  mapfile -t found < <(libraries)
  cp -L "${found[@]}" "$stage/lib/"
  strip --strip-unneeded "$stage"/lib/*
  mkdir "$stage/code_objects"
  cp "$build"/code_objects/*.co "$build"/code_objects/*.cubin "$stage/code_objects/"
  cp -r "$root/kernels" "$root/golden" "$stage/"
  cp -r "$root"/harness/core "$root"/harness/h200 "$stage/harness/"
  cp -r "$root"/fuzz/{corpus,mutants,ledger} "$stage/fuzz/"
  cp "$root/LICENSE" "$stage/"
  git -C "$root" describe --always --dirty >"$stage/revision" 2>/dev/null || rm -f "$stage/revision"
  cat >"$stage/run-attest" <<'RUN'
#!/usr/bin/env bash
# attest with this folder as its tree: paths in its options are relative to here.
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && exec bin/attest "$@"
RUN
  chmod +x "$stage/run-attest"
}

# The mutants' code objects and launchers, where this attest builds them for a device that is not here.
build_mutants() {
  (cd "$stage" && bin/attest selftest --help) | grep -q -e '--build-only' ||
    { say "this attest has no 'selftest --build-only': no prebuilt mutants"; return 0; }
  say "building mutants for cuda:0: $mutants"
  (cd "$stage" && bin/attest selftest --device cuda:0 --threads "$jobs" "--build-only=$mutants") \
    >"$build.mutants.log" 2>&1 || {
    tail -n 20 "$build.mutants.log" >&2
    die "the mutants do not build (above; all of it in $build.mutants.log); --mutants none leaves them out"
  }
  tail -n 1 "$build.mutants.log" >&2
}

mkdir -p "$build"
configure
mapfile -t tests < <(targets_like 'attest_gpu[a-z_]*_test')
mapfile -t objects < <(targets_like '[a-z_0-9]+_code_objects')
say "building attest ${tests[*]} ${objects[*]} in $build"
ninja -C "$build" -j "$jobs" attest_cli "${tests[@]}" "${objects[@]}" >"$build.log" 2>&1 || { grep -n -m 5 -A 20 -E '^FAILED:|error' "$build.log" >&2; die "the build failed ($build.log)"; }
assemble attest "${tests[@]}"
[[ $mutants == none ]] || build_mutants
rm -f "$out"
tar -C "$build" --owner=0 --group=0 --sort=name -c attest-h200 | xz -T"$jobs" -6 >"$out.part"
mv "$out.part" "$out"
bytes=$(stat -c %s "$out")
say "$out: $((bytes >> 20)) MiB; unpacked $(du -sh "$stage" | cut -f1)"
((bytes <= limit_mib << 20)) || die "it is larger than $limit_mib MiB" 1
