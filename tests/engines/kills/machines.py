"""Machines: network namespaces. A router connects them with the check, which has the service and the store, and drops what the check cuts off.

The check itself runs in a namespace of its own (`enter`), so the machine that it runs on is not touched, and all are gone when it ends.
"""

import itertools
import os
import shutil
import subprocess
import sys
import threading
import time

#: The check's addresses as the machines see them, and the router's.
SERVICE, STORE, ROUTER = "10.77.0.1", "10.77.0.2", "10.77.0.254"
#: What is dropped of what a machine and the store send to each other.
DIRECTIONS = ["both", "to the store", "from the store"]
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2)"


def enter():
    """Runs this program again, in a network namespace. Returns there; and ends the program if that is not possible."""
    if "KILLS_NETWORK" not in os.environ:
        missing = [program for program in ("unshare", "nsenter", "ip", "sysctl") if shutil.which(program) is None]
        if missing or subprocess.run(["unshare", "--net", "true"]).returncode:
            print(f"SKIPPED: several machines need root, and {', '.join(missing) or 'permission'} (apt-get install iproute2 util-linux procps)")
            sys.exit(0)
        os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv], {**os.environ, "KILLS_NETWORK": "1"})
    run("ip link set lo up")


class Machines:
    def __init__(self, count):
        self.lock, self.errors = threading.Lock(), []
        #: When each machine was cut off, and until when, and the timers of the ends. The rules need priorities of their own, because a machine
        #: may be cut off twice at a time.
        self.times, self.timers, self.priorities = {}, [], itertools.count(100)
        self.namespaces = []
        router = self.namespace()
        # Else the way back of a packet is looked up, too, and each direction is both.
        run("sysctl -qw net.ipv4.conf.all.rp_filter=0", "sysctl -qw net.ipv4.conf.default.rp_filter=0", "sysctl -qw net.ipv4.ip_forward=1", at=inside(router))
        run(f"ip link add check type veth peer name check netns {router.pid}")
        run(f"ip address add {SERVICE}/24 dev check", f"ip address add {STORE}/24 dev check", "ip link set check up")
        run(f"ip address add {ROUTER}/24 dev check", "ip link set check up", at=inside(router))
        run(f"ip route add default via {ROUTER}")
        for n in range(count):
            machine, gateway = self.namespace(), address(n, 254)
            run(f"ip link add m{n} type veth peer name net netns {machine.pid}", f"ip address add {gateway}/24 dev m{n}", f"ip link set m{n} up", at=inside(router))
            run("ip link set lo up", f"ip address add {address(n)}/24 dev net", "ip link set net up", f"ip route add default via {gateway}", at=inside(machine))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for timer in self.timers:
            timer.cancel()
        for holder in self.namespaces:
            holder.kill()
            holder.wait()

    def namespace(self):
        """A process that has a network namespace, and ends with this one."""
        holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.namespaces.append(holder)
        holder.stdout.readline()
        return holder

    def prefixes(self):
        """For each machine, what runs a command there."""
        return [inside(holder) for holder in self.namespaces[1:]]

    def cut_off(self, machine, direction, seconds):
        """For so long, what a machine (its address) and the store send to each other in this direction, or in both, is dropped."""
        both = [f"from {machine} to {STORE}", f"from {STORE} to {machine}"]
        rules = {"both": both, "to the store": both[:1], "from the store": both[1:]}[direction]
        rules = [f"{rule} blackhole priority {next(self.priorities)}" for rule in rules]
        with self.lock:
            self.times.setdefault(machine, []).append((time.monotonic(), time.monotonic() + seconds))
        self.change("add", rules)
        timer = threading.Timer(seconds, self.change, ("del", rules))
        timer.daemon = True
        self.timers.append(timer)
        timer.start()

    def change(self, verb, rules):
        try:
            run(*(f"ip rule {verb} {rule}" for rule in rules), at=inside(self.namespaces[0]))
        except Exception as error:
            self.errors.append(f"the router could not {verb} {rules}: {error}")

    def was_cut_off(self, machine, at, seconds=0.0):
        """Whether a machine was cut off at this time, and for longer than that without a break."""
        merged = []
        for begin, end in sorted(self.times.get(machine, [])):
            if merged and begin <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((begin, end))
        # What follows a loss meets connections that still wait for their next attempt.
        return any(begin - 0.1 <= at <= end + 1 and end - begin > seconds for begin, end in merged)

    def check(self, port):
        """That a machine reaches the store, and in no direction while it is cut off."""
        for direction in DIRECTIONS:
            for works in (True, False):
                connects = subprocess.run([*self.prefixes()[0], sys.executable, "-c", CONNECT, STORE, str(port)], capture_output=True).returncode == 0
                if connects is not works:
                    sys.exit(f"a machine that is {'not ' if works else ''}cut off ({direction}) {'does not reach' if works else 'reaches'} the store")
                if works:
                    self.cut_off(address(0), direction, 4)
            time.sleep(4)
        self.times.clear()


def address(machine, host=1):
    return f"10.77.{machine + 1}.{host}"


def inside(holder):
    return ["nsenter", "--target", str(holder.pid), "--net"]


def run(*commands, at=()):
    for command in commands:
        subprocess.run([*at, *command.split()], check=True)
