#!/bin/sh
# Makes the user and its directories, and starts the service again after an upgrade. A new installation is not started:
# its owner first looks at /etc/ahphub/config.toml.
set -eu
if ! getent passwd ahphub >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/ahphub --no-create-home --shell /bin/sh \
    --comment "ahphub and its sessions" ahphub
fi
for dir in /var/lib/ahphub /var/lib/ahphub/data /var/lib/ahphub/src; do
  [ -d "$dir" ] || install -d -m 0700 -o ahphub -g ahphub "$dir"
done
chown root:ahphub /etc/ahphub/config.toml
chmod 0640 /etc/ahphub/config.toml
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart ahphub.service
fi
if [ "${1:-}" = 1 ] || { [ "${1:-}" = configure ] && [ -z "${2:-}" ]; }; then
  echo "Start ahphub with: systemctl enable --now ahphub"
  echo "and sign in with:  runuser -u ahphub -- ahphub link --data /var/lib/ahphub/data"
fi
