#!/usr/bin/env bash
# Cuts the power of a machine that enqueues and sends, boots it again, and looks for every mail whose id was printed.
#
#   powerloss.sh MAILQ [DIR [ACKS]]
#
# MAILQ is the executable. DIR keeps Debian's kernel, the two consoles and what was read from them (default: a new
# directory, removed at the end unless something is wrong). ACKS is how many ids are printed before the cut (default:
# 100). It prints one line and ends with 0 when nothing was lost, 1 when something was or the trial says nothing, 69 when
# it cannot be made here.
#
# The machine is virtual and small: Debian's kernel, an initial ramdisk with busybox, sqlite3 and mailq, and an ext4 disk
# for the queue. The cut is a SIGKILL to qemu, which takes the guest's memory with it: what no fsync brought to the disk is
# gone. A cache inside the disk is not played; that the disk keeps what it was told to flush is taken for granted.
# A file that the guest writes without fsync is the control: if none of it is lost, the cut was none.
#
# Needs no root and installs nothing. By hand, not in the gate: it fetches a kernel, and takes some minutes,
# since the processor is emulated.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin" LC_ALL=C

die() {
    echo "powerloss.sh: $1" >&2
    exit "${2:-1}"
}

case $# in
1 | 2 | 3) ;;
*) die "usage: powerloss.sh MAILQ [DIR [ACKS]]" 64 ;;
esac
mailq=$(readlink -e "$1") || die "no such file: $1" 66
acks=${3:-100}
[[ $acks =~ ^[1-9][0-9]*$ ]] || die "ACKS is a number from 1 on, not '$acks'" 64

missing=()
while read -r package program; do
    command -v "$program" >/dev/null || missing+=("$package")
done <<'LIST'
apt apt-get
busybox-static busybox
cpio cpio
e2fsprogs mke2fs
kmod depmod
qemu-system-x86 qemu-system-x86_64
sqlite3 sqlite3
LIST
[ "${#missing[@]}" = 0 ] || die "these Debian packages are missing: ${missing[*]}" 69
busybox=$(command -v busybox)
if ldd "$busybox" >/dev/null 2>&1; then die "$busybox needs libraries; install busybox-static" 69; fi

keep=no
if [ -n "${2:-}" ]; then
    mkdir -p "$2"
    keep=yes
    dir=$(readlink -e "$2")
else
    dir=$(mktemp -d "${TMPDIR:-/tmp}/mailq-powerloss.XXXXXX")
fi
machine=
finish() {
    code=$?
    trap - EXIT
    [ -z "$machine" ] || kill -9 "$machine" 2>/dev/null || true
    rm -rf "$dir/ramdisk" "$dir/ramdisk.gz" "$dir/disk.img"
    if [ "$keep" = no ] && [ "$code" = 0 ]; then
        rm -rf "$dir"
    elif [ "$code" != 0 ]; then
        echo "powerloss.sh: the consoles are in $dir" >&2
    fi
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Once a DIR: the kernel of this Debian, without installing it.
fetch_kernel() {
    local package
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
    [ -n "$package" ] || die "apt knows no linux-image-cloud-amd64; run apt-get update" 69
    rm -rf "$dir/fetch" && mkdir "$dir/fetch"
    (cd "$dir/fetch" && apt-get download -qq "$package" 2>apt.log) || die "cannot fetch $package: $(cat "$dir/fetch/apt.log")" 69
    dpkg-deb -x "$dir"/fetch/*.deb "$dir/fetch/tree"
    depmod -b "$dir/fetch/tree" "${package#linux-image-}"
    mv "$dir/fetch/tree" "$dir/kernel"
    rm -rf "$dir/fetch"
}

# A program and the libraries that it loads, at the paths where it looks for them.
put_program() {
    local library
    install -D "$1" "$dir/ramdisk/bin/$2"
    # A static executable has none.
    { ldd "$1" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
        install -D "$(readlink -e "$library")" "$dir/ramdisk$library"
    done
}

# The guest as PID 1. `machine.do` on the kernel's command line says whether it works or checks.
guest() {
    cat <<'INIT'
#!/bin/sh
export PATH=/bin MAILQ_CONFIG=/etc/mailq.toml
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
exec </dev/null >/dev/ttyS0 2>&1
while read -r module; do insmod "/modules/$module"; done </modules/order
tries=0
while [ ! -b /dev/vda ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
# Nothing goes to the disk of the kernel's own accord, so that nothing but an fsync can save a mail.
echo 0 >/proc/sys/vm/dirty_writeback_centisecs
echo 360000 >/proc/sys/vm/dirty_expire_centisecs
mount -t ext4 -o commit=3600 /dev/vda /disk || { echo "GUEST cannot mount the disk"; poweroff -f; }
mkdir -p /disk/queue /disk/out

# A line is an acknowledgement only with its full stop: the cut may fall into the middle of one.
enqueue() {
    local count=0 name file sum id
    while [ "$count" != "$2" ]; do
        count=$((count + 1))
        name="$1-$count"
        if [ $((count % 3)) = 0 ]; then
            file=/tmp/$name
            head -c $((count * 7919 % 60000 + 1)) /dev/urandom >"$file"
            sum=$(sha256sum "$file" | cut -d ' ' -f 1)
            id=$(mailq enqueue --to ada@example.com --subject "$name" --body "This is $name." --attach "$file")
            rm "$file"
        else
            sum=-
            id=$(mailq enqueue --to ada@example.com --subject "$name" --body "This is $name.")
        fi || { echo "GUEST cannot enqueue $name"; poweroff -f; }
        echo "ACK $id $name $sum ."
        echo "$name" >>/disk/control
    done
}

# An application that keeps the database open. Without it each mailq would be the last to leave, and its checkpoint would
# bring to the disk what its commit should have brought.
application() {
    { echo 'SELECT count(*) FROM email_messages;'; sleep 1000000; } | sqlite3 /disk/queue/mailq.db >/dev/null
}

send() {
    while :; do
        mailq --quiet send-batch >/dev/null || echo "GUEST send-batch ended with $?"
        sleep 1
    done
}

tell_mails() {
    sqlite3 -separator ' ' /disk/queue/mailq.db "SELECT '$1', id, json_extract(parameters, '\$.subject'),
        coalesce(json_extract(attachments, '\$[0].sha256'), '-'), status, '.' FROM email_messages ORDER BY id"
}

tell_sent() {
    find /disk/out -name '*.eml' | while read -r file; do
        echo "$1 $(sed -n 's/^Subject: \([a-z0-9-]*\).*/\1/p;/^.\?$/q' "$file") ."
    done
}

look() {
    # mailq is the first to open what the cut left.
    echo "CHECK $(mailq --quiet check --offline >/tmp/check 2>&1; echo $?) ."
    cat /tmp/check
    echo "INTEGRITY $(sqlite3 /disk/queue/mailq.db 'PRAGMA integrity_check' | head -n 1) ."
    tell_mails BEFORE
    tell_sent OUT-BEFORE
    find /disk/queue -path '*-spool/*' -type f | while read -r file; do echo "FILE $(sha256sum <"$file" | cut -d ' ' -f 1) ."; done
    echo "CONTROL $(cat /disk/control 2>/dev/null | wc -l) ."
    # What the dead sender held comes back when its lease is over.
    for run in 1 2 3; do
        mailq --quiet send-batch >/dev/null || echo "GUEST send-batch $run ended with $?"
        [ "$(sqlite3 /disk/queue/mailq.db "SELECT count(*) FROM email_messages WHERE status IN ('PENDING', 'SENDING')")" = 0 ] && break
        sleep 11
    done
    tell_mails AFTER
    tell_sent OUT-AFTER
    umount /disk
    echo "DONE ."
}

case $(cat /proc/cmdline) in
*machine.do=work*)
    # The first one makes the database.
    enqueue first 1
    application & enqueue ada endless & enqueue bob endless & send & wait
    ;;
*) look ;;
esac
poweroff -f
INIT
}

build_ramdisk() {
    local root="$dir/ramdisk" applet module
    rm -rf "$root"
    mkdir -p "$root"/{bin,dev,disk,etc,modules,proc,sys,templates,tmp}
    install "$busybox" "$root/bin/busybox"
    for applet in cat cut echo find grep head insmod mkdir mount poweroff rm sed sh sha256sum sleep umount wc; do
        ln -s busybox "$root/bin/$applet"
    done
    put_program "$mailq" mailq
    put_program "$(command -v sqlite3)" sqlite3
    : >"$root/modules/order"
    for module in virtio_pci virtio_blk crc32c_generic ext4; do
        modprobe -d "$dir/kernel" -S "$release" --show-depends "$module"
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
        install -m 644 "$module" "$root/modules/"
        basename "$module" >>"$root/modules/order"
    done
    cat >"$root/etc/mailq.toml" <<'CONFIG'
database = "/disk/queue/mailq.db"
templates = "/templates"
from = "Acme <hello@example.com>"

[transport]
kind = "file"
directory = "/disk/out"

[send]
lease = "10s"
CONFIG
    guest >"$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$dir/ramdisk.gz"
}

# Starts the machine with its console in a file; `machine` is its process. Emulated throughout, since a KVM that is there
# may still abort inside another virtual machine.
boot() {
    : >"$dir/$2"
    qemu-system-x86_64 -accel tcg,thread=multi -cpu max -M q35 -m 512 -smp 2 -nodefaults -no-user-config \
        -display none -no-reboot -serial "file:$dir/$2" -kernel "$dir/kernel/boot/vmlinuz-$release" \
        -initrd "$dir/ramdisk.gz" -append "console=ttyS0 quiet loglevel=3 panic=-1 machine.do=$1" \
        -drive "file=$dir/disk.img,if=virtio,format=raw,cache=writeback" </dev/null >"$dir/qemu.log" 2>&1 &
    machine=$!
}

# Waits for so many lines of a kind on the console, or for the end of the machine.
await() {
    local lines=0 tries=0
    while [ "$lines" -lt "$3" ]; do
        kill -0 "$machine" 2>/dev/null || break
        [ "$tries" -lt 9000 ] || die "$1 has only $lines of $3 '$2' lines after half an hour"
        sleep 0.2
        tries=$((tries + 1))
        lines=$(grep -ac "^$2 .*\." "$dir/$1" || true)
    done
    lines=$(told "$1" "$2" | wc -l)
    [ "$lines" -ge "$3" ] || die "the machine ended with $lines of $3 '$2' lines: $(tail -n 3 "$dir/qemu.log" "$dir/$1")"
}

# The whole lines of a kind, without the kind and the full stop.
told() {
    tr -d '\r' <"$dir/$1" | sed -n "s/^$2 \(.*\)\.\$/\1/p" | sed 's/ $//'
}

release=
find_release() {
    release=$(basename "$(echo "$dir"/kernel/boot/vmlinuz-*)")
    release=${release#vmlinuz-}
}

[ -d "$dir/kernel" ] || fetch_kernel
find_release
build_ramdisk
rm -f "$dir/disk.img"
truncate -s 512M "$dir/disk.img"
mke2fs -q -F -t ext4 "$dir/disk.img"

boot work cut.console
await cut.console ACK "$acks"
# Not always right after an acknowledgement.
sleep "0.$((RANDOM % 1000 + 1000))"
kill -9 "$machine"
wait "$machine" 2>/dev/null || true
machine=

boot check check.console
await check.console DONE 1
wait "$machine" 2>/dev/null || true
machine=

told cut.console ACK >"$dir/acked"
for kind in BEFORE AFTER OUT-BEFORE OUT-AFTER FILE; do
    told check.console "$kind" >"$dir/${kind,,}"
done

# Prints what is wrong, a line each: acknowledged mails against the table, the spool and the sent mails.
compare() {
    awk -v dir="$dir" '
        function wrong(what) { print what }
        BEGIN {
            while ((getline line < (dir "/before")) > 0) { split(line, f, " "); subject[f[1]] = f[2]; sum[f[1]] = f[3]; if (f[4] == "SENT") was_sent[f[1]] = 1 }
            while ((getline line < (dir "/after")) > 0) { split(line, f, " "); status[f[1]] = f[4] }
            while ((getline line < (dir "/out-before")) > 0) out_before[line] = 1
            while ((getline line < (dir "/out-after")) > 0) out_after[line]++
            while ((getline line < (dir "/file")) > 0) file[line] = 1
            for (id in was_sent) if (!(subject[id] in out_before)) wrong("SENT, but no file: " id)
            for (id in status) if (status[id] != "SENT") wrong("not sent in the end: " id " is " status[id])
            for (name in out_after) if (out_after[name] > 1) wrong("sent as two files: " name)
        }
        seen[$1]++ { wrong("id printed twice: " $1) }
        !($1 in subject) { wrong("lost: " $1 " (" $2 ")"); next }
        subject[$1] != $2 { wrong("another mail: " $1 " is " subject[$1] ", not " $2) }
        sum[$1] != $3 { wrong("another attachment: " $1) }
        $3 != "-" && !($3 in file) { wrong("attachment not in the spool: " $1) }
        !($2 in out_after) { wrong("in no file that was sent: " $1 " (" $2 ")") }
    ' "$dir/acked"
}

acked=$(wc -l <"$dir/acked")
with_file=$(grep -vc -- ' -$' "$dir/acked" || true)
sent_before=$(grep -c ' SENT$' "$dir/before" || true)
rows=$(wc -l <"$dir/before")
integrity=$(told check.console INTEGRITY)
check=$(told check.console CHECK)
control=$(told check.console CONTROL)
compare >"$dir/wrong"
grep -h '^GUEST' "$dir/cut.console" "$dir/check.console" | tr -d '\r' >>"$dir/wrong" || true
[ "$integrity" = ok ] || echo "integrity_check: $integrity" >>"$dir/wrong"
[ "$check" = 0 ] || echo "mailq check ended with $check" >>"$dir/wrong"
[ "$control" -lt "$acked" ] || echo "the control lost nothing: the cut was none" >>"$dir/wrong"
lost=$(grep -c '^lost: ' "$dir/wrong" || true)

[ -s "$dir/wrong" ] && sed 's/^/powerloss.sh: /' "$dir/wrong" | head -n 20 >&2
echo "$(date -u +%F): cut after $acked printed ids ($with_file with an attachment, $sent_before mails SENT):" \
    "$lost lost, $(wc -l <"$dir/wrong") faults; $rows rows, integrity $integrity;" \
    "without fsync $((acked - control)) of $acked lines lost"
[ ! -s "$dir/wrong" ]
