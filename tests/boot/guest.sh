# Shared by the first processes of the virtual machines, which source it before anything else. tests/boot/machine.sh follows their
# progress by the lines that begin with `boot:`.
# shellcheck shell=sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /out
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tracefs trace /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t tmpfs -o mode=1777 tmp /tmp
ip link set lo up
# The kernel's command line has a sampling rate where processors are emulated: a sample then takes a millisecond, and the usual
# 997 a second would leave no time for anything else. The kernel lowers the same limit by itself where samples take long.
rate=$(sed -n 's/.*boot_rate=\([0-9]*\).*/\1/p' /proc/cmdline)
[ -z "$rate" ] || echo "$rate" >/proc/sys/kernel/perf_event_max_sample_rate
uname -r >/out/kernel
echo "boot: up $(uname -r), $(nproc) processors"

# step NAME SECONDS COMMAND...: the status of each goes into a table that the checks outside read.
step() {
    name=$1 seconds=$2
    shift 2
    timeout "$seconds" "$@" >"/out/$name.out" 2>"/out/$name.err" </dev/null
    status=$?
    echo "$name $status $(cut -d. -f1 /proc/uptime)" >>/out/steps
    echo "boot: $name: exit status $status"
}

# send DEVICE: sends the results of the steps, and switches the machine off.
send() {
    dmesg >/out/dmesg
    stty raw -F "$1"
    tar -c -z -C /out . >"$1"
    echo "boot: sent"
    poweroff -f
}
