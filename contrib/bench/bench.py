#!/usr/bin/env python3
"""Measures mailq against others, both sides in turn in one run: what counts is the ratio, not the machine.

    contrib/bench/run.sh [--runs N] [--only NAME,...] [--large] [--peers] [--json FILE]

Every run that sends checks that each mail arrived exactly once. Medians, the range of the ratio, and the bar of the
project's plan are printed as a table. Needs the release binary, sqlite3, and smtp-source (run.sh sees to them).
Databases lie below $TMPDIR: where that is a disk, the disk's time to synchronise is part of what is measured.
"""
import argparse, json, os, shutil, socket, sqlite3, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MAILQ = os.path.join(ROOT, "target", "release", "mailq")
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
            running = [subprocess.Popen(command, env=ENV, stdout=subprocess.DEVNULL) for _ in range(processes)]
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


def shell_args(queue, timeout=False):
    begin = "BEGIN IMMEDIATE" if not timeout else ".timeout 30000\nBEGIN IMMEDIATE"
    return ["sqlite3", queue.db], f"{'.timeout 30000' if timeout else ''}\nPRAGMA synchronous=FULL;\nBEGIN IMMEDIATE; {INSERT}; COMMIT;\n"


def repeat(args, count, text=None):
    """The seconds of each of `count` runs, one after the other."""
    return [timed(lambda: subprocess.run(args, env=ENV, check=True, input=text, capture_output=True, text=True)) for _ in range(count)]


def single():
    """Seconds of one enqueue, and of one sqlite3 shell."""
    queue = Queue()
    ours, theirs = [], []
    command, text = shell_args(queue)
    for _ in range(100):
        ours += repeat(enqueue_args(queue), 1)
        theirs += repeat(command, 1, text)
    queue.gone()
    return statistics.median(ours), statistics.median(theirs)


def crowd(make, count=16, each=12):
    """Mails a second and the 99th percentile when `count` loops of single processes run at once."""
    from concurrent.futures import ThreadPoolExecutor
    queue = Queue()
    args, text = make(queue)
    with ThreadPoolExecutor(count) as pool:
        begun = time.perf_counter()
        times = [t for part in pool.map(lambda _: repeat(args, each, text), range(count)) for t in part]
        seconds = time.perf_counter() - begun
    queue.gone()
    return count * each / seconds, sorted(times)[int(len(times) * 0.99)]


def beside():
    """The 99th percentile of enqueue beside a full-rate send-batch, and idle."""
    queue = Queue()
    idle = sorted(repeat(enqueue_args(queue), 150))
    queue.sql("DELETE FROM email_messages")
    with Sink() as sink:
        queue.route(sink.port, 20)
        queue.fill(60_000)
        busy = subprocess.Popen([MAILQ, "--config", queue.config, "send-batch"], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        times = []
        while busy.poll() is None:
            times += repeat(enqueue_args(queue), 1)
        assert len(times) > 20, "the run was too short"
    queue.gone()
    return sorted(times)[int(len(times) * 0.99)], idle[int(len(idle) * 0.99)], max(times)


def nothing_due():
    queue = Queue()
    queue.fill(1000, ", next_attempt_at", ", 4000000000000")
    ours, theirs = [], []
    query = ["sqlite3", queue.db, "SELECT count(*) FROM email_messages WHERE status = 'PENDING' AND queue = 'default' AND next_attempt_at < 1"]
    for _ in range(100):
        ours += repeat([MAILQ, "--config", queue.config, "send-batch"], 1)
        theirs += repeat(query, 1)
    queue.gone()
    return statistics.median(ours), statistics.median(theirs)


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
    ours = statistics.median(repeat([MAILQ, "--config", queue.config, "stats", "--json"], 5))
    theirs = statistics.median(repeat(["sqlite3", queue.db, "SELECT status, count(*) FROM email_messages GROUP BY status"], 3))
    queue.gone()
    return ours, theirs


def flat(mails):
    """Seconds of stats with so many mails SENT, and with 10,000."""
    def at(count):
        queue = Queue()
        finished(queue, count)
        took = statistics.median(repeat([MAILQ, "--config", queue.config, "stats", "--json"], 9))
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


class Table:
    def __init__(self, runs):
        self.runs, self.rows = runs, []

    def add(self, name, measure, bar, better="more", unit="/s"):
        """`measure` gives ours and theirs; the ratio of each run counts."""
        pairs = [measure() for _ in range(self.runs)]
        ratios = [ours / theirs for ours, theirs in pairs]
        self.row(name, statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs), statistics.median(ratios),
                 (min(ratios), max(ratios)), bar, better, unit)

    def figure(self, name, value, bar, better="less", unit=""):
        self.row(name, value, None, value, (value, value), bar, better, unit)

    def row(self, name, ours, theirs, ratio, span, bar, better, unit):
        held = ratio >= bar if better == "more" else ratio <= bar
        self.rows.append(dict(name=name, ours=ours, theirs=theirs, ratio=ratio, range=span, bar=bar, better=better, held=held, unit=unit))
        other = "" if theirs is None else f"{theirs:12.4g}"
        print(f"{name:<58} {ours:12.4g} {other:>12} {ratio:9.3f} [{span[0]:.3f}, {span[1]:.3f}]  "
              f"{'≥' if better == 'more' else '≤'} {bar:<8g} {'holds' if held else 'MISSED'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--large", action="store_true", help="five million rows for claim and stats, one million for the others")
    parser.add_argument("--peers", action="store_true", help="beside Postfix too; needs root and the postfix package installed")
    parser.add_argument("--json")
    args = parser.parse_args()
    wanted = [name for name in args.only.split(",") if name]
    rows, due = (5_000_000, 1_000_000) if args.large else (500_000, 100_000)
    table = Table(args.runs)
    print(f"{'work':<58} {'mailq':>12} {'reference':>12} {'ratio':>9} range")

    def part(name):
        return not wanted or name in wanted

    if part("send"):
        table.add("send 20,000 on 20 connections / smtp-source -d -s 20", lambda: (send(20_000, 20), source(20_000, 20)), 0.6)
        table.add("send 20,000, no PIPELINING / plain dialogue, 20 connections", lambda: (send(20_000, 20, pipelining=False), talk(20_000, 20)), 0.6)
    if part("one"):
        table.add("send 3,000 on one connection / plain dialogue", lambda: (send(3_000, 1), talk(3_000, 1)), 0.7)
        table.add("... / plain dialogue that synchronises each outcome", lambda: (send(3_000, 1), talk(3_000, 1, sync=True)), 0.7)
    if part("far"):
        table.add("send 10,000 at 20 ms, PIPELINING / connections ÷ round trip", lambda: (send(10_000, 20, delay=20), 20 / 0.020), 0.92)
        table.add("send 2,000 at 20 ms, no PIPELINING / plain dialogue", lambda: (send(2_000, 20, 20, False), talk(2_000, 20, 20)), 0.95)
    if part("procs"):
        table.add("send by 4 processes of 5 connections / by 1 of 20", lambda: (send(20_000, 20, processes=4), send(20_000, 20)), 0.75)
    if part("commits"):
        table.figure("synchronisations a mail at 20 connections", commits(5_000, 20), 0.2)
    if part("waiting"):
        peaks = []
        def waiting():
            sent = Sent(10_000, 20, waiting=due - 10_000)
            peaks.append(sent.peak)
            return sent.rate, send(10_000, 20)
        table.add(f"send with {due:,} due / with 10,000", waiting, 0.85)
        table.figure("peak memory there, MiB", max(peaks), 24)
    if args.peers and part("peers"):
        import peers
        work = []
        def postfix():
            ours = Sent(20_000, 20)
            with Sink() as sink:
                rate, cpu = peers.relay(SOURCE, sink.port, 5_000)
            work.append((ours.cpu, cpu))
            return ours.rate, rate
        table.add("send 20,000 on 20 connections / Postfix from its queue", postfix, 10)
        cpus = iter(work)
        table.add("processor time a mail / Postfix", lambda: next(cpus), 1 / 12, "less", "s")
    if part("enqueue"):
        table.add("enqueue, one process one mail / sqlite3 shell", single, 1.0, "less", "s")
        table.add("enqueue, 16 at once: rate / sqlite3 shell", lambda: (crowd(lambda q: (enqueue_args(q), None))[0], crowd(lambda q: shell_args(q, True))[0]), 1.2)
        table.add("enqueue, 16 at once: p99 / sqlite3 shell", lambda: (crowd(lambda q: (enqueue_args(q), None))[1], crowd(lambda q: shell_args(q, True))[1]), 0.5, "less", "s")
        worst = []
        def neighbour():
            busy, idle, longest = beside()
            worst.append(longest)
            return busy, idle
        table.add("enqueue p99 beside a full-rate send-batch / idle", neighbour, 3, "less", "s")
        table.figure("its longest, s", max(worst), 0.1)
    if part("idle"):
        table.add("send-batch with nothing due / sqlite3 SELECT", nothing_due, 1.3, "less", "s")
    if part("bulk"):
        table.add("enqueue --bulk of 200,000 JSON Lines / sqlite3 .import", lambda: bulk(200_000), 0.3)
    if part("claim"):
        table.add(f"claim of 500 at {rows:,} SENT and {rows // 25:,} scheduled / 10,000", lambda: claim(rows), 1.6, "less", "s")
    if part("stats"):
        table.add(f"stats at {rows:,} rows / GROUP BY status", lambda: stats(rows), 0.25, "less", "s")
        table.add(f"stats at {rows:,} rows / at 10,000", lambda: flat(rows), 1.5, "less", "s")
    if part("prune"):
        rate, p99, wal = prune(due)
        table.figure(f"prune of {due:,} beside an inserter, rows/s", rate, 100_000, "more")
        table.figure("the inserter's p99, ms", p99, 5)
        table.figure("the WAL, MiB", wal, 32)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(dict(machine=list(os.uname()), cores=os.cpu_count(), rows=table.rows), f, indent=1)
    sys.exit(0)


if __name__ == "__main__":
    main()
