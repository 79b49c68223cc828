#!/bin/sh
# Stops the service when the package goes, and leaves it running while it is upgraded.
set -eu
case "${1:-}" in
remove | purge | 0) if [ -d /run/systemd/system ]; then systemctl disable --now ahphub.service; fi ;;
esac
