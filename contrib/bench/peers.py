"""The mailer that mailq is measured against where asked for: a Postfix of our own below a directory. It must be installed,
and root is needed, as it changes to users of its own."""
import os, shutil, socket, subprocess, tempfile, time

from measures import SOURCE, Sink, free_port, once

TICK = os.sysconf("SC_CLK_TCK")

MAIN = """compatibility_level = 3.6
queue_directory = {dir}/spool
data_directory = {dir}/data
maillog_file = {dir}/log
maillog_file_prefixes = {dir}
myhostname = localhost
mydestination =
inet_interfaces = loopback-only
inet_protocols = ipv4
relayhost = [127.0.0.1]:{sink}
relay_domains = static:all
mynetworks = 127.0.0.0/8
smtp_host_lookup = native
disable_dns_lookups = yes
local_recipient_maps =
alias_maps =
alias_database =
default_process_limit = 100
smtpd_client_connection_count_limit = 0
smtpd_client_connection_rate_limit = 0
in_flow_delay = 0
default_destination_concurrency_limit = 20
initial_destination_concurrency = 20
{defer}
"""

MASTER = """127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
relay unix - - n - - smtp
smtp unix - - n - - smtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""


class Postfix:
    """Relays from its queue to the sink on port `sink`: filled while its transport is deferred, then let go."""

    def __init__(self, sink):
        self.dir = tempfile.mkdtemp(prefix="mailq-bench-postfix.")
        os.chmod(self.dir, 0o755)
        self.sink, self.port = sink, free_port()
        for sub in ("etc", "spool/pid", "data", "spool/private"):
            os.makedirs(os.path.join(self.dir, sub), exist_ok=True)
        shutil.chown(os.path.join(self.dir, "data"), "postfix")
        shutil.chown(os.path.join(self.dir, "spool/private"), "postfix")
        with open(os.path.join(self.dir, "etc/master.cf"), "w") as f:
            f.write(MASTER.format(port=self.port))
        self.configure(True)
        self.postfix("check", check=False)
        self.postfix("start")
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("Postfix does not answer: " + open(os.path.join(self.dir, "log")).read())

    def configure(self, is_held):
        with open(os.path.join(self.dir, "etc/main.cf"), "w") as f:
            defer = "defer_transports = smtp relay" if is_held else ""
            f.write(MAIN.format(dir=self.dir, sink=self.sink, defer=defer))

    def postfix(self, verb, check=True):
        subprocess.run(["postfix", "-c", os.path.join(self.dir, "etc"), verb], check=check, capture_output=True)

    def fill(self, source, mails):
        subprocess.run([source, "-d", "-s", "20", "-m", str(mails), "-l", "1024", "-t", "b@example.com", f"127.0.0.1:{self.port}"],
                       check=True, capture_output=True)
        # What comes in while the transport is deferred lands in the deferred queue.
        while self.queued("active") or self.queued("incoming") or self.queued("maildrop"):
            time.sleep(0.1)

    def queued(self, name):
        return sum(len(files) for _, _, files in os.walk(os.path.join(self.dir, "spool", name)))

    def release(self):
        """Seconds from letting the queue go until it is empty."""
        self.configure(False)
        self.postfix("reload")
        begun = time.perf_counter()
        self.postfix("flush")
        while self.queued("deferred") or self.queued("active") or self.queued("incoming"):
            time.sleep(0.02)
        return time.perf_counter() - begun

    def master(self):
        return int(open(os.path.join(self.dir, "spool/pid/master.pid")).read())

    def cpu(self):
        """Seconds of processor time of its processes so far, those that ended included."""
        master, total = self.master(), 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(pid) == master or int(stat[1]) == master:
                total += sum(int(tick) for tick in stat[11:15])
        return total / TICK

    def gone(self):
        master = self.master()
        os.kill(master, 15)
        for _ in range(200):
            if not os.path.exists(f"/proc/{master}"):
                break
            time.sleep(0.05)
        shutil.rmtree(self.dir)


def postfix(mails):
    """Mails a second from Postfix's queue, and its processor time a mail in seconds."""
    with Sink() as sink:
        peer = Postfix(sink.port)
        try:
            peer.fill(SOURCE, mails)
            before = peer.cpu()
            seconds = peer.release()
            spent = peer.cpu() - before
        finally:
            peer.gone()
    once(sink, mails)
    return mails / seconds, spent / mails
