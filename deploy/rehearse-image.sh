#!/usr/bin/env bash
# Builds deploy/Dockerfile where no registry of images can be reached, and starts the service in it: the base images are made
# by debootstrap, and buildah runs the build as root without a daemon. It needs the Debian packages debootstrap and buildah,
# and about 3 GB in DIRECTORY, which is kept for the next time:
#
#   sudo deploy/rehearse-image.sh DIRECTORY
#
# What it does not show: the official base images themselves, and the kernel limits that Docker or Kubernetes add.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p "${1:?Usage: deploy/rehearse-image.sh DIRECTORY}"
directory=$(realpath "$1")
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
export XDG_RUNTIME_DIR="$directory/run"
buildah() { command buildah --root "$directory/storage" --runroot "$directory/run" "$@"; }
ready_seconds_max=120

release=trixie
debian="$directory/$release"
if [ ! -e "$debian/complete" ]; then
  rm -rf "$debian"
  debootstrap --variant=minbase "$release" "$debian"
  touch "$debian/complete"
fi

# The names under which deploy/Dockerfile asks for them, with the Node that package-lock.json pins and the npm at hand.
base_image() {
  local container
  container=$(buildah from scratch)
  buildah copy --quiet "$container" "$debian" / >/dev/null
  if [ "$1" = node ]; then
    buildah copy --quiet "$container" "node_modules/node-linux-$(node -p process.arch)/bin/node" /usr/local/bin/node >/dev/null
    buildah copy --quiet "$container" "$(npm root -g)/npm" /usr/local/lib/node_modules/npm >/dev/null
    buildah run "$container" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
  fi
  buildah commit --quiet --rm "$container" "$2" >/dev/null
}
# Read as a whole before: `buildah run` reads the standard input, and would take the names that are still to come.
mapfile -t base_images < <(sed -n 's/^FROM \([^ ]*\).*/\1/p' deploy/Dockerfile)
for name in "${base_images[@]}"; do
  buildah inspect --type image "$name" >/dev/null 2>&1 || base_image "${name%%:*}" "docker.io/library/$name"
done

# npm's own settings say where packages come from, and which authority a proxy's certificates are of.
settings=("--volume" "$directory/npmrc:/root/.npmrc:ro")
cat "$HOME/.npmrc" >"$directory/npmrc" 2>/dev/null || : >"$directory/npmrc"
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  printf '\ncafile=/root/authority.crt\n' >>"$directory/npmrc"
  settings+=("--volume" "$(realpath "$NODE_EXTRA_CA_CERTS"):/root/authority.crt:ro")
fi
buildah build --pull-never --layers --format docker --network host "${settings[@]}" --file deploy/Dockerfile --tag parley .

# The service in it: as its user, without capabilities, on a read-only root file system, with a data directory and a /tmp.
container=$(buildah from --pull-never parley)
data=$(mktemp -d "$directory/data.XXXXXX")
unshared=
cleanup() {
  if [ -n "$unshared" ]; then kill -KILL "$unshared" 2>/dev/null || true; fi
  buildah umount "$container" >/dev/null 2>&1 || true
  buildah rm "$container" >/dev/null 2>&1 || true
  rm -rf "$data"
}
trap cleanup EXIT
image=$(buildah inspect --type image parley)
config() { node -p "const { Cmd, Env, Healthcheck, User, WorkingDir } = JSON.parse(require('fs').readFileSync(0)).Docker.config; $1" <<<"$image"; }
mapfile -t environment < <(config 'Env.join("\n")')
mapfile -t command < <(config 'Cmd.join("\n")')
health=$(config 'Healthcheck.Test[3]')
user=$(config 'User.split(":")[0]')
environment+=(HOST=127.0.0.1 PORT=3999)
chown "$user:$user" "$data"
chmod 0700 "$data"
inside=(setpriv "--reuid=$user" "--regid=$user" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs env -i "${environment[@]}")
# shellcheck disable=SC2016
ROOT=$(buildah mount "$container") DATA="$data" HOME_DIRECTORY=$(config WorkingDir) \
  unshare --mount --pid --fork --kill-child=KILL sh -euc '
    mount --bind "$ROOT" "$ROOT"
    mount --bind "$DATA" "$ROOT$HOME_DIRECTORY"
    mount -t tmpfs -o nosuid,nodev tmp "$ROOT/tmp"
    mount -t proc proc "$ROOT/proc"
    mount --bind /dev "$ROOT/dev"
    mount -o remount,bind,ro "$ROOT"
    cd "$ROOT"
    exec chroot . sh -c "cd $HOME_DIRECTORY && exec \"\$@\"" sh "$@"' sh "${inside[@]}" "${command[@]}" >"$data.log" 2>&1 </dev/null &
unshared=$!
in_container() {
  local first
  first=$(pgrep -P "$unshared") && nsenter --target "$first" --mount --pid --root --wd=/ "${inside[@]}" "$@"
}

echo "Waiting until the image's own health check succeeds…"
deadline=$((SECONDS + ready_seconds_max))
until in_container node -e "$health"; do
  if [ "$SECONDS" -ge "$deadline" ] || ! kill -0 "$unshared"; then cat "$data.log"; exit 1; fi
  sleep 1
done
cat "$data.log"
in_container parley doctor
if in_container touch /opt/parley/written 2>/dev/null; then echo "The root file system is writable."; exit 1; fi
kill -TERM "$(pgrep -P "$unshared")"
wait "$unshared"
unshared=
rm -f "$data.log"
echo "The image was built, became ready on a read-only root file system without capabilities, and stopped with exit code 0."
