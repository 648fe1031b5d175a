"""What bench.py measures: the sink, a queue of its own for each measurement, and a function for each kind of work.
Each gives ours and theirs, or what is said; the sends check that each mail arrived exactly once."""
import json, os, shutil, socket, sqlite3, statistics, subprocess, tempfile, time

MAILQ = os.environ["BENCH_MAILQ"]
PEER = os.environ["BENCH_PEER"]
SOURCE = os.environ.get("BENCH_SMTP_SOURCE", "smtp-source")
ENV = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
BODY = "Dear {{name}}, your number is {{n}}.\n" + ("x" * 72 + "\n") * 11


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Sink:
    """The sink of peer.rs for the time of a with block; `seen` holds what it counted afterwards."""

    def __init__(self, delay=0, pipelining=True):
        self.port = free_port()
        self.args = [PEER, "serve", str(self.port), "--delay", str(delay)] + ([] if pipelining else ["--no-pipelining"])

    def __enter__(self):
        self.process = subprocess.Popen(self.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        out, _ = self.process.communicate("")
        self.seen = json.loads(out)


class Queue:
    """A database, a template and a configuration of their own."""

    def __init__(self, port=25, connections=20):
        self.dir = tempfile.mkdtemp(prefix="mailq-bench.")
        os.makedirs(os.path.join(self.dir, "templates", "bench"))
        for name, text in (("subject", "Hello {{name}}"), ("text", BODY)):
            with open(os.path.join(self.dir, "templates", "bench", name + ".hbs"), "w") as f:
                f.write(text)
        self.config = os.path.join(self.dir, "config.toml")
        self.db = os.path.join(self.dir, "q.db")
        self.route(port, connections)
        self.mailq("enqueue", "--to", "a@example.com", "--template", "bench", "--param", "name=x", "--param", "n=1")
        self.sql("DELETE FROM email_messages")

    def route(self, port, connections):
        with open(self.config, "w") as f:
            f.write(f'database = "{self.db}"\ntemplates = "{self.dir}/templates"\nfrom = "bench@example.com"\n'
                    f'[smtp]\nhost = "127.0.0.1"\nport = {port}\ntls = "none"\n[send]\nconcurrency = {connections}\n')

    def mailq(self, *args, check=True):
        return subprocess.run([MAILQ, "--config", self.config, *args], env=ENV, check=check, capture_output=True, text=True).stdout

    def sql(self, sql):
        db = sqlite3.connect(self.db, timeout=60)
        with db:
            rows = db.execute(sql).fetchall()
        db.close()
        return rows

    def fill(self, mails, columns="", values=""):
        self.sql(f"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {mails}) "
                 f"INSERT INTO email_messages (to_addrs, template, parameters{columns}) SELECT 'user' || i || '@example.com', "
                 f"'bench', json_object('name', 'User ' || i, 'n', i){values} FROM c")

    def gone(self):
        shutil.rmtree(self.dir)


def timed(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def once(sink, mails):
    seen = sink.seen
    assert seen["mails"] == mails and seen["copies"] == 0, f"not exactly once: {seen} of {mails}"


class Sent:
    """What send-batch came to: mails a second, peak memory in MiB, processor time a mail in seconds."""

    def __init__(self, mails, connections, delay=0, pipelining=True, processes=1, waiting=0):
        with Sink(delay, pipelining) as sink:
            queue = Queue(sink.port, connections // processes)
            queue.fill(mails + waiting)
            command = [MAILQ, "--config", queue.config, "send-batch"] + (["--limit", str(mails)] if waiting else [])
            begun = time.perf_counter()
            running = [subprocess.Popen(command, env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(processes)]
            ended = [os.wait4(process.pid, 0) for process in running]
            self.rate = mails / (time.perf_counter() - begun)
            assert all(status == 0 for _, status, _ in ended), ended
            queue.gone()
        once(sink, mails)
        self.peak = max(used.ru_maxrss for _, _, used in ended) / 1024
        self.cpu = sum(used.ru_utime + used.ru_stime for _, _, used in ended) / mails


def send(*args, **more):
    return Sent(*args, **more).rate


def source(mails, connections):
    with Sink() as sink:
        call = [SOURCE, "-d", "-s", str(connections), "-m", str(mails), "-l", "1024", f"127.0.0.1:{sink.port}"]
        seconds = timed(lambda: subprocess.run(call, check=True, capture_output=True))
    once(sink, mails)
    return mails / seconds


def talk(mails, connections, delay=0, sync=False):
    with Sink(delay, pipelining=False) as sink, tempfile.TemporaryDirectory() as scratch:
        record = ["--sync", os.path.join(scratch, "record")] if sync else []
        out = subprocess.run([PEER, "talk", str(sink.port), str(connections), str(mails), *record], check=True, capture_output=True, text=True)
    once(sink, mails)
    return float(out.stdout)


def commits(mails, connections):
    """Synchronisations of the database a mail."""
    with Sink() as sink:
        queue = Queue(sink.port, connections)
        queue.fill(mails)
        trace = os.path.join(queue.dir, "trace")
        subprocess.run(["strace", "-f", "-qq", "-o", trace, "-e", "trace=fsync,fdatasync", MAILQ, "--config", queue.config, "send-batch"],
                       env=ENV, check=True, capture_output=True)
        count = sum("sync(" in line for line in open(trace))
        queue.gone()
    once(sink, mails)
    return count / mails


INSERT = ("INSERT INTO email_messages (to_addrs, template, parameters) VALUES ('a@example.com', 'bench', '{\"name\": \"x\", \"n\": 1}')")


def enqueue_args(queue):
    return [MAILQ, "--config", queue.config, "enqueue", "--to", "a@example.com", "--template", "bench", "--param", "name=x", "--param", "n=1"]


def shell_args(queue):
    return ["sqlite3", "-cmd", ".timeout 30000", queue.db, f"PRAGMA synchronous=FULL; BEGIN IMMEDIATE; {INSERT}; COMMIT;"]


def spawn(args, each, loops=1, stdin=None, env=ENV):
    """Seconds of each run of a command, run `each` times in turn in each of `loops` threads of peer.rs, and of all."""
    call = [PEER, "spawn", str(loops), str(each), *(["--stdin", stdin] if stdin else []), *args]
    run = subprocess.run(call, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    return told["seconds"], told["wall"]


def in_turn(ours, theirs, rounds=20, each=10):
    """The medians of two processes that run in turn, a few runs each: each side gives the seconds of so many runs."""
    taken = [(ours(each), theirs(each)) for _ in range(rounds)]
    return tuple(statistics.median(seconds for side in sides for seconds in side) for sides in zip(*taken))


def runs(args, **more):
    return lambda each: spawn(args, each, **more)[0]


def percentile(seconds):
    return sorted(seconds)[int(len(seconds) * 0.99)]


def single():
    """Seconds of one enqueue, and of one sqlite3 shell."""
    queue = Queue()
    medians = in_turn(runs(enqueue_args(queue)), runs(shell_args(queue)))
    queue.gone()
    return medians


def crowd(make, loops=16, each=25):
    """Mails a second and the 99th percentile when so many loops of single processes run at once; none may fail."""
    queue = Queue()
    seconds, wall = spawn(make(queue), each, loops)
    assert queue.sql("SELECT count(*) FROM email_messages")[0][0] == loops * each
    queue.gone()
    return loops * each / wall, percentile(seconds)


def beside(count=300):
    """The 99th percentile of enqueue beside a full-rate send-batch, and idle; the longest beside it."""
    queue = Queue()
    idle, _ = spawn(enqueue_args(queue), count)
    queue.sql("DELETE FROM email_messages")
    with Sink() as sink:
        queue.route(sink.port, 20)
        queue.fill(60_000)
        busy = subprocess.Popen([MAILQ, "--config", queue.config, "send-batch"], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        times, _ = spawn(enqueue_args(queue), count)
        is_beside = busy.poll() is None
        assert busy.wait() == 0 and is_beside, "the run was too short"
    queue.gone()
    return percentile(times), percentile(idle), max(times)


def nothing_due():
    queue = Queue()
    queue.fill(1000, ", next_attempt_at", ", 4000000000000")
    query = "SELECT count(*) FROM email_messages WHERE status = 'PENDING' AND queue = 'default' AND next_attempt_at < 1"
    medians = in_turn(runs([MAILQ, "--config", queue.config, "send-batch"]), runs(["sqlite3", queue.db, query]))
    queue.gone()
    return medians


def bulk(mails):
    """Rows a second of `enqueue --bulk`, and of the sqlite3 shell that imports the same values as CSV into the same table."""
    ours, theirs = Queue(), Queue()
    lines, table = os.path.join(ours.dir, "mails.jsonl"), os.path.join(ours.dir, "mails.csv")
    with open(lines, "w") as f, open(table, "w") as g:
        for n in range(mails):
            params = {"name": f"User {n}", "n": n}
            f.write(json.dumps({"to": f"user{n}@example.com", "template": "bench", "params": params}) + "\n")
            quoted = json.dumps(params).replace('"', '""')
            g.write(f'user{n}@example.com,bench,"{quoted}"\n')
    taken = timed(lambda: ours.mailq("enqueue", "--bulk", lines))
    script = (f"PRAGMA synchronous=FULL;\nCREATE VIEW incoming AS SELECT to_addrs, template, parameters FROM email_messages;\n"
              "CREATE TRIGGER take INSTEAD OF INSERT ON incoming BEGIN INSERT INTO email_messages (to_addrs, template, parameters) "
              f"VALUES (NEW.to_addrs, NEW.template, NEW.parameters); END;\n.mode csv\n.import {table} incoming\n")
    imported = timed(lambda: subprocess.run(["sqlite3", theirs.db], env=ENV, check=True, input=script, capture_output=True, text=True))
    for queue in ours, theirs:
        assert queue.sql("SELECT count(*) FROM email_messages")[0][0] == mails
        queue.gone()
    return mails / taken, mails / imported


def finished(queue, mails):
    now = int(time.time() * 1000)
    queue.fill(mails, ", status, finished_at, sent_at, send_ms, attempt_count", f", 'SENT', {now} - i, {now} - i, i % 100, 1")


def stats(mails):
    queue = Queue()
    finished(queue, mails)
    queue.fill(mails // 25, ", next_attempt_at", ", 4000000000000")
    # The reference counts as the index-less query does; both have the file in memory.
    ours = statistics.median(runs([MAILQ, "--config", queue.config, "stats", "--json"])(5))
    theirs = statistics.median(runs(["sqlite3", queue.db, "SELECT status, count(*) FROM email_messages GROUP BY status"])(3))
    queue.gone()
    return ours, theirs


def flat(mails):
    """Seconds of stats with so many mails SENT, and with 10,000."""
    def at(count):
        queue = Queue()
        finished(queue, count)
        took = statistics.median(runs([MAILQ, "--config", queue.config, "stats", "--json"])(9))
        queue.gone()
        return took
    return at(mails), at(10_000)


def prune(mails):
    """Rows a second beside an inserter, the inserter's 99th percentile in ms, and the WAL's size in MiB."""
    queue = Queue()
    finished(queue, mails)
    run = subprocess.Popen([MAILQ, "--config", queue.config, "prune", "--older-than", "0s"], env=ENV, stdout=subprocess.PIPE, text=True)
    begun, times, wal = time.perf_counter(), [], 0
    db = sqlite3.connect(queue.db, timeout=60, isolation_level=None)
    db.execute("PRAGMA synchronous=FULL")
    while run.poll() is None:
        times.append(timed(lambda: db.execute(INSERT)))
        wal = max(wal, os.path.getsize(queue.db + "-wal"))
        time.sleep(0.002)
    seconds = time.perf_counter() - begun
    db.close()
    queue.gone()
    return mails / seconds, sorted(times)[int(len(times) * 0.99)] * 1000, wal / 2**20


def claim(mails):
    """Seconds of a dry claim of 500 in a small and in a large database: what one turn of the writer costs."""
    def cost(finished_rows, scheduled):
        queue = Queue()
        if finished_rows:
            finished(queue, finished_rows)
            queue.fill(scheduled, ", next_attempt_at", ", 4000000000000")
        queue.fill(10_000)
        db = sqlite3.connect(queue.db, isolation_level=None)
        now, times = int(time.time() * 1000) + 1000, []
        for _ in range(9):
            db.execute("BEGIN IMMEDIATE")
            times.append(timed(lambda: db.execute(
                "UPDATE email_messages SET status = 'SENDING', locked_at = ?, locked_by = 'b' WHERE status = 'PENDING' AND id IN "
                "(SELECT id FROM email_messages WHERE status = 'PENDING' AND queue = 'default' AND next_attempt_at <= ? "
                "ORDER BY next_attempt_at, id LIMIT 500)", (now, now))))
            db.execute("ROLLBACK")
        db.close()
        queue.gone()
        return statistics.median(times)
    return cost(mails, mails // 25), cost(0, 0)
