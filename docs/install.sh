#!/bin/sh
# Installs ahphub for Linux or macOS: downloads the archive of the newest release, compares its SHA-256 checksum and puts
# the program into ~/.local/bin. It needs no root, changes no other file, and installs nothing when anything is wrong.
#
#   curl -fsSL https://github.com/ahphub/ahphub/releases/latest/download/install.sh | sh
#   … | PREFIX=/usr/local sh     into /usr/local/bin
#   … | VERSION=1.2.3 sh         that release
#   … | FROM=https://… sh        from another place that has the files of a release
set -eu

main() {
  releases=https://github.com/ahphub/ahphub/releases
  if [ -n "${VERSION:-}" ]; then
    from=${FROM:-$releases/download/v${VERSION#v}}
  else
    from=${FROM:-$releases/latest/download}
  fi
  prefix=${PREFIX:-${HOME:?HOME is not set: set PREFIX to the directory to install into}/.local}

  case "$(uname -s)" in
  Linux) system=linux ;;
  Darwin) system=darwin ;;
  *) fail "there is no ahphub for $(uname -s), only for Linux and macOS" ;;
  esac
  case "$(uname -m)" in
  x86_64 | amd64) system=$system-amd64 ;;
  aarch64 | arm64) system=$system-arm64 ;;
  *) fail "there is no ahphub for $(uname -m), only for amd64 and arm64. Build it: https://github.com/ahphub/ahphub" ;;
  esac
  if command -v sha256sum >/dev/null 2>&1; then
    sum=sha256sum
  elif command -v shasum >/dev/null 2>&1; then
    sum="shasum -a 256"
  else
    fail "neither sha256sum nor shasum is here to check the download with: install coreutils"
  fi
  if command -v curl >/dev/null 2>&1; then
    get() { curl -fsSL --retry 2 -o "$2" "$1"; }
  elif command -v wget >/dev/null 2>&1; then
    get() { wget -q -O "$2" "$1"; }
  else
    fail "neither curl nor wget is here: install one of them"
  fi

  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  get "$from/checksums.txt" "$work/checksums.txt" ||
    fail "cannot download $from/checksums.txt. Is the address right, and does a proxy stand between?"
  archive=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(ahphub-[0-9A-Za-z.+-]*-$system\.tar\.gz\)\$/\1/p" "$work/checksums.txt" | head -n 1)
  [ -n "$archive" ] || fail "this release has no archive for $system: $from/checksums.txt lists what it has"
  want=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$archive\$/\1/p" "$work/checksums.txt" | head -n 1)
  get "$from/$archive" "$work/$archive" || fail "cannot download $from/$archive"
  have=$($sum "$work/$archive" | cut -d ' ' -f 1)
  [ "$have" = "$want" ] ||
    fail "$archive is not what checksums.txt says (SHA-256 $have, expected $want). Nothing was installed; try again"

  tar -xzf "$work/$archive" -C "$work" || fail "cannot unpack $archive"
  mkdir -p "$prefix/bin" 2>/dev/null && [ -w "$prefix/bin" ] ||
    fail "cannot write to $prefix/bin: set PREFIX to a directory of yours, or run this as root"
  # A running ahphub keeps its file: the new one takes the name only when it is complete.
  cp "$work/${archive%.tar.gz}/ahphub" "$prefix/bin/.ahphub.new"
  chmod 0755 "$prefix/bin/.ahphub.new"
  "$prefix/bin/.ahphub.new" version >/dev/null || {
    rm -f "$prefix/bin/.ahphub.new"
    fail "the program does not start on this machine. Nothing was installed"
  }
  mv -f "$prefix/bin/.ahphub.new" "$prefix/bin/ahphub"
  echo "Installed $("$prefix/bin/ahphub" version) as $prefix/bin/ahphub"
  case ":$PATH:" in
  *":$prefix/bin:"*) run=ahphub ;;
  *) run=$prefix/bin/ahphub && echo "$prefix/bin is not in your PATH: add it, or use the whole path" ;;
  esac
  command -v git >/dev/null 2>&1 || echo "ahphub needs git: install it first"
  if [ "${system%-*}" = linux ]; then
    command -v bwrap >/dev/null 2>&1 && command -v pasta >/dev/null 2>&1 ||
      echo "Install bubblewrap and passt too: they keep what agents run in a sandbox"
  fi
  echo "Start it with: $run"
}

fail() {
  echo "ahphub was not installed: $1" >&2
  exit 1
}

main # at the end, so that half a script does nothing
