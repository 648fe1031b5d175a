#!/usr/bin/env bash
# A throw-away machine: this host's files under a layer that goes away, and its systemd as process 1 of namespaces of
# its own, in half a second. What is installed, who is added and what is started there never reaches the host.
# Needs root, systemd, dbus, overlayfs and cgroup2.
#
#   machine.sh create DIR     makes it below DIR, which must be empty
#   machine.sh boot DIR       boots it; its files outlive a shutdown
#   machine.sh run DIR CMD…   runs CMD in it as root
#   machine.sh halt DIR       shuts it down
#   machine.sh crash DIR      kills all of it at once
#   machine.sh destroy DIR    kills it and takes all of it away
set -euo pipefail
verb=$1
dir=$(readlink -m "$2")
shift 2
root=$dir/root
groups=/sys/fs/cgroup/unified
[ -d "$groups" ] || groups=/sys/fs/cgroup
group=$groups/mailq-$(basename "$dir")

is_alive() {
    [ -s "$dir/outer" ] && kill -0 "$(cat "$dir/outer")" 2>/dev/null
}

wait_until_gone() {
    local i
    for ((i = 0; i < $1; i++)); do
        is_alive || return 0
        sleep 0.05
    done
    return 1
}

create() {
    local unit
    mkdir -p "$dir"
    mount -t tmpfs -o mode=755,size=2g mailq-machine "$dir"
    mkdir -p "$dir"/{upper,work,root}
    : >"$dir/console"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$root"
    # Nothing starts but what a test adds, and nothing that wants hardware.
    rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/init.d/* "$root"/etc/rc?.d/*
    for unit in systemd-{timesyncd,logind,udevd,udev-trigger,resolved,networkd,sysctl,modules-load,pstore,firstboot}.service \
        systemd-{update-utmp,update-utmp-runlevel,remount-fs,binfmt}.service getty-static.service console-getty.service \
        rc-local.service {getty,cryptsetup,integritysetup}.target veritysetup.target dev-hugepages.mount \
        sys-kernel-{debug,tracing}.mount sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount; do
        ln -sf /dev/null "$root/etc/systemd/system/$unit"
    done
    mkdir -p "$root"/etc/systemd/{journald.conf.d,system/timers.target.wants,system/multi-user.target.wants}
    printf '%s\n' '[Journal]' Storage=persistent RateLimitIntervalSec=0 ReadKMsg=no Audit=no SystemMaxUse=64M \
        RuntimeMaxUse=64M >"$root/etc/systemd/journald.conf.d/machine.conf"
    rm -rf "$root/var/log/journal"
    mkdir -p "$root/var/log/journal"
    : >"$root/etc/fstab"
    echo machine >"$root/etc/hostname"
    printf '%s\n' '127.0.0.1 localhost machine' '::1 localhost' >"$root/etc/hosts"
    # "Start no services" is for the host; the scripts of a package shall start what they start anywhere.
    rm -f "$root/usr/sbin/policy-rc.d"
    cat >"$dir/inner" <<'INNER'
set -euo pipefail
dir=$1
root=$dir/root
mount --make-rprivate /
# pivot_root wants a mount point of its own.
mount --bind "$root" "$root"
cd "$root"
mount -t proc -o nosuid,noexec,nodev proc proc
# The kernel's settings are the whole host's.
for settings in proc/sys proc/sysrq-trigger; do
    mount --bind "$settings" "$settings" && mount -o remount,bind,ro "$settings"
done
cat /proc/sys/kernel/random/uuid >"$dir/boot_id"
mount --bind "$dir/boot_id" proc/sys/kernel/random/boot_id
mount -o remount,bind,ro proc/sys/kernel/random/boot_id
mount -t sysfs -o ro,nosuid,noexec,nodev sysfs sys
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,mode=620,ptmxmode=666,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
touch dev/console
mount --bind "$dir/console" dev/console
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t cgroup2 cgroup2 sys/fs/cgroup
ip link set lo up
mkdir -p run/.old
pivot_root . run/.old
umount -l /run/.old
rmdir /run/.old
# LoadCredential= relies on mounts that propagate.
mount --make-rshared /
exec env -i container=mailq-machine PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=multi-user.target --show-status=no --log-target=journal </dev/null
INNER
}

boot() {
    local outer pid='' state='' i
    mkdir -p "$group"
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        exec setsid unshare --mount --uts --ipc --net --cgroup --pid --fork --kill-child \
            bash "$dir/inner" "$dir" </dev/null >"$dir/log" 2>&1
    ) &
    outer=$!
    disown
    echo "$outer" >"$dir/outer"
    for ((i = 0; i < 500; i++)); do
        pid=$(tr -d ' ' <"/proc/$outer/task/$outer/children" 2>/dev/null || true)
        [ "$(readlink "/proc/${pid:-none}/exe" 2>/dev/null)" != /usr/lib/systemd/systemd ] || break
        if ! kill -0 "$outer" 2>/dev/null; then
            echo "machine.sh: it ended before systemd began" >&2
            cat "$dir/log" >&2
            return 1
        fi
        sleep 0.02
    done
    echo "$pid" >"$dir/pid"
    for ((i = 0; i < 600; i++)); do
        state=$(run systemctl is-system-running 2>/dev/null || true)
        case $state in running | degraded) break ;; esac
        sleep 0.05
    done
    [ "$state" = running ] || {
        echo "machine.sh: it is $state" >&2
        run systemctl --failed >&2 || true
        return 1
    }
}

run() {
    nsenter -t "$(cat "$dir/pid")" -m -u -i -n -p -C -r -w env -i TERM=dumb LANG=C.UTF-8 HOME=/root SYSTEMD_PAGER= \
        DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

destroy() {
    local i
    if is_alive; then
        kill -9 "$(cat "$dir/pid")" "$(cat "$dir/outer")" 2>/dev/null || true
        wait_until_gone 100 || true
    fi
    umount -l "$root" 2>/dev/null || true
    umount -l "$dir" 2>/dev/null || true
    for ((i = 0; i < 40; i++)); do
        find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true
        [ -d "$group" ] || break
        sleep 0.05
    done
}

case $verb in
create | boot | destroy) "$verb" ;;
run) run "$@" ;;
halt)
    # SIGRTMIN+4: power off.
    kill -RTMIN+4 "$(cat "$dir/pid")"
    wait_until_gone 400
    ;;
crash)
    kill -9 "$(cat "$dir/pid")"
    wait_until_gone 100
    ;;
*)
    echo "usage: machine.sh create|boot|run|halt|crash|destroy DIR" >&2
    exit 64
    ;;
esac
