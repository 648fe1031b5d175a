"""The mailers that mailq is measured against where asked for, each with its own configuration and queue below a
directory: Postfix as a relay, django-post_office, huey on SQLite, nullmailer and msmtp. Postfix must be installed, and
needs root, as it changes to users of its own. run.sh unpacks nullmailer and msmtp below BENCH_PACKAGES, and puts the two
of Python into the virtual environment BENCH_VENV.

Each sends mails of 1 KB that lie in its queue when the time begins, in the way its documentation names for many mails,
and of several such ways in the fastest. Its mails were rendered before, while mailq renders in the time that is measured."""
import glob, os, shutil, signal, socket, sqlite3, subprocess, tempfile, time

from measures import BODY, ENV, SOURCE, Queue, Sink, enqueue_args, free_port, in_turn, once, runs, spawn, timed

PACKAGES = os.environ["BENCH_PACKAGES"]
VENV = os.environ["BENCH_VENV"]
TEXT = BODY.replace("{{name}}", "User").replace("{{n}}", "1")
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


class Nullmailer:
    """Its programs look below NULLMAILER_TEST_PREFIX, unless they are setuid: nullmailer-queue runs as who calls it."""

    def __init__(self, port=9):
        self.dir = tempfile.mkdtemp(prefix="mailq-bench-nullmailer.")
        for sub in ("conf", "queue/queue", "queue/tmp", "queue/failed"):
            os.makedirs(os.path.join(self.dir, sub))
        os.mkfifo(os.path.join(self.dir, "queue/trigger"))
        for name, place in (("bin", "usr/bin"), ("sbin", "usr/sbin"), ("protocols", "usr/lib/nullmailer")):
            os.symlink(os.path.join(PACKAGES, place), os.path.join(self.dir, name))
        os.chmod(os.path.join(PACKAGES, "usr/sbin/nullmailer-queue"), 0o755)
        # A pause of 0 means: once through the queue, and end.
        for name, text in (("mailname", "bench.example.com"), ("conf/pausetime", "0"), ("conf/remotes", f"127.0.0.1 smtp port={port}"),
                           ("mail", f"From: bench@example.com\nTo: a@example.com\nSubject: Hello\n\n{TEXT}")):
            write(os.path.join(self.dir, name), text)
        self.env = dict(ENV, NULLMAILER_TEST_PREFIX=self.dir)

    def inject(self, each):
        """Seconds of each of so many nullmailer-inject, which give each mail a Message-ID of its own."""
        call = [os.path.join(PACKAGES, "usr/bin/nullmailer-inject"), "-h"]
        return spawn(call, each, stdin=os.path.join(self.dir, "mail"), env=self.env)[0]

    def send(self):
        subprocess.run([os.path.join(PACKAGES, "usr/sbin/nullmailer-send")], env=self.env, check=True, capture_output=True)

    def gone(self):
        shutil.rmtree(self.dir)


def nullmailer(mails):
    with Sink() as sink:
        peer = Nullmailer(sink.port)
        peer.inject(mails)
        seconds = timed(peer.send)
        peer.gone()
    once(sink, mails)
    return mails / seconds


def inject():
    """Seconds of one enqueue, and of one nullmailer-inject."""
    queue, peer = Queue(), Nullmailer()
    medians = in_turn(runs(enqueue_args(queue)), peer.inject)
    queue.gone()
    peer.gone()
    return medians


def msmtp(mails):
    """The package's queue runner, filled by its enqueuer; both work below $HOME."""
    scripts = os.path.join(PACKAGES, "usr/libexec/msmtp/msmtpqueue")
    with Sink() as sink, tempfile.TemporaryDirectory(prefix="mailq-bench-msmtp.") as home:
        # With the libraries that were unpacked beside it.
        libraries = os.path.dirname(glob.glob(os.path.join(PACKAGES, "usr/lib/*/libgsasl.so.*"))[0])
        env = dict(ENV, HOME=home, PATH=os.path.join(PACKAGES, "usr/bin") + ":" + ENV["PATH"], LD_LIBRARY_PATH=libraries)
        write(os.path.join(home, ".msmtprc"), f"account default\nhost 127.0.0.1\nport {sink.port}\nfrom bench@example.com\n")
        for n in range(mails):
            subprocess.run(["sh", os.path.join(scripts, "msmtp-enqueue.sh"), f"user{n}@example.com"], env=env, check=True,
                           input=f"Message-ID: <{n}@example.com>\nSubject: Hello\n\n{TEXT}", text=True)
        runner = ["sh", os.path.join(scripts, "msmtp-runqueue.sh")]
        seconds = timed(lambda: subprocess.run(runner, env=env, check=True, capture_output=True))
    once(sink, mails)
    return mails / seconds


# Batches, processes and errors alone in the log table are what its documentation names for many mails. Of sizes from 100
# to 5,000, one to three processes and two to ten threads this was the fastest.
DJANGO = """SECRET_KEY = "bench"
USE_TZ = True
INSTALLED_APPS = ["django.contrib.contenttypes", "post_office"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "{dir}/q.db", "OPTIONS": {{
    "timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"}}}}}}
EMAIL_BACKEND = "post_office.EmailBackend"
EMAIL_HOST, EMAIL_PORT = "127.0.0.1", {port}
TEMPLATES = [{{"BACKEND": "django.template.backends.django.DjangoTemplates"}}]
POST_OFFICE = {{"BATCH_SIZE": 1000, "THREADS_PER_PROCESS": 5, "LOG_LEVEL": 1}}
"""

DJANGO_FILL = """import django, sys
django.setup()
from post_office import mail
mail.send_many([dict(recipients=f"user{n}@example.com", sender="bench@example.com", subject=f"Hello User {n}",
                     message=sys.argv[2]) for n in range(int(sys.argv[1]))])
"""


def python(args, env):
    subprocess.run([os.path.join(VENV, "bin/python"), *args], env=env, check=True, capture_output=True)


def django(mails):
    with Sink() as sink, tempfile.TemporaryDirectory(prefix="mailq-bench-django.") as place:
        write(os.path.join(place, "bench_settings.py"), DJANGO.format(dir=place, port=sink.port))
        env = dict(ENV, PYTHONPATH=place, DJANGO_SETTINGS_MODULE="bench_settings")
        python(["-m", "django", "migrate"], env)
        python(["-c", DJANGO_FILL, str(mails), TEXT], env)
        send = ["-m", "django", "send_queued_mail", "--processes", str(os.cpu_count()), "--lockfile", os.path.join(place, "lock")]
        seconds = timed(lambda: python(send, env))
    once(sink, mails)
    return mails / seconds


# A connection is kept for each worker. The task gets the whole message: made in the worker by email.message, a mail takes
# four times as long. Processes, as threads are slower by half or more.
HUEY = """import smtplib
from huey import SqliteHuey

huey = SqliteHuey("bench", filename="{dir}/q.db", results=False, timeout=30)
kept = []


@huey.task(retries=3)
def send(to, message):
    if not kept:
        kept.append(smtplib.SMTP("127.0.0.1", {port}))
    kept[0].sendmail("bench@example.com", to, message)
"""

HUEY_FILL = """import bench_tasks, sys
for n in range(int(sys.argv[1])):
    to = f"user{n}@example.com"
    bench_tasks.send(to, f"From: bench@example.com\\nTo: {to}\\nMessage-ID: <{n}@example.com>\\nSubject: Hello\\n\\n{sys.argv[2]}")
"""


def huey(mails):
    with Sink() as sink, tempfile.TemporaryDirectory(prefix="mailq-bench-huey.") as place:
        write(os.path.join(place, "bench_tasks.py"), HUEY.format(dir=place, port=sink.port))
        env = dict(ENV, PYTHONPATH=place)
        python(["-c", HUEY_FILL, str(mails), TEXT], env)
        call = [os.path.join(VENV, "bin/huey_consumer"), "bench_tasks.huey", "-k", "process", "-w", str(os.cpu_count()), "-q"]
        consumer = subprocess.Popen(call, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            db = sqlite3.connect(os.path.join(place, "q.db"), timeout=30)
            while consumer.poll() is None and db.execute("SELECT 1 FROM task LIMIT 1").fetchone():
                time.sleep(0.05)
            db.close()
        finally:
            # It ends what it began.
            consumer.send_signal(signal.SIGINT)
            try:
                consumer.wait(60)
            except subprocess.TimeoutExpired:
                consumer.terminate()
                raise
    once(sink, mails)
    # It never ends by itself, and need not start for each queue: from the first mail to the last.
    return mails / sink.seen["seconds"]


def write(path, text):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write(text if text.endswith("\n") else text + "\n")


# Name, title, what gives mails a second, and how many mails: some seconds' worth.
OTHERS = (("huey", "huey on SQLite", huey, 6_000), ("django", "django-post_office on SQLite", django, 4_000),
          ("nullmailer", "nullmailer-send", nullmailer, 1_000), ("msmtp", "msmtp's queue runner", msmtp, 100))
