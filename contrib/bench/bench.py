#!/usr/bin/env python3
"""Measures mailq against others, both sides in turn in one run: what counts is the ratio, not the machine.

    contrib/bench/run.sh [--runs N] [--only NAME,...] [--large] [--peers] [--json FILE]

Every run that sends checks that each mail arrived exactly once. Medians, the range of the ratio, and the bar of the
project's plan, where it has one, are printed as a table. Needs the release binary, sqlite3, and smtp-source (run.sh sees
to them). Databases lie below $TMPDIR: where that is a disk, the disk's time to synchronise is part of what is measured.
"""
import argparse, json, os, statistics, sys

from measures import (Sent, beside, bulk, claim, commits, crowd, enqueue_args, flat, nothing_due, prune, send, shell_args,
                      single, source, stats, talk)


class Table:
    def __init__(self, runs):
        self.runs, self.rows = runs, []
        print(f"{'work':<62} {'mailq':>12} {'reference':>12} {'ratio':>9} range")

    def add(self, name, measure, bar=None, better="more", unit="/s"):
        """`measure` gives ours and theirs; the ratio of each run counts."""
        self.pairs(name, [measure() for _ in range(self.runs)], bar, better, unit)

    def pairs(self, name, pairs, bar=None, better="more", unit="/s"):
        ratios = [ours / theirs for ours, theirs in pairs]
        self.row(name, statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs), statistics.median(ratios),
                 (min(ratios), max(ratios)), bar, better, unit)

    def figure(self, name, values, bar, better="less", unit=""):
        value = statistics.median(values)
        self.row(name, value, None, value, (min(values), max(values)), bar, better, unit)

    def row(self, name, ours, theirs, ratio, span, bar, better, unit):
        held = None if bar is None else ratio >= bar if better == "more" else ratio <= bar
        self.rows.append(dict(name=name, ours=ours, theirs=theirs, ratio=ratio, range=span, bar=bar, better=better, held=held, unit=unit))
        other = "" if theirs is None else f"{theirs:12.4g}"
        verdict = "" if bar is None else f"{'≥' if better == 'more' else '≤'} {bar:<9g} {'holds' if held else 'MISSED'}"
        print(f"{name:<62} {ours:12.4g} {other:>12} {ratio:9.3f} [{span[0]:.3f}, {span[1]:.3f}]  {verdict}".rstrip(), flush=True)


def sends(table, part, due):
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
        table.figure("synchronisations a mail at 20 connections", [commits(5_000, 20)], 0.2)
    if part("waiting"):
        peaks = []
        def waiting():
            sent = Sent(10_000, 20, waiting=due - 10_000)
            peaks.append(sent.peak)
            return sent.rate, send(10_000, 20)
        table.add(f"send with {due:,} due / with 10,000", waiting, 0.85)
        table.figure("peak memory there, MiB", [max(peaks)], 24)


def peer_sends(table, part):
    import peers
    if part("peers", "postfix"):
        cpu = []
        def postfix():
            ours = Sent(20_000, 20)
            rate, theirs = peers.postfix(5_000)
            cpu.append((ours.cpu, theirs))
            return ours.rate, rate
        table.add("send 20,000 on 20 connections / Postfix from its queue", postfix, 10)
        table.pairs("processor time a mail / Postfix", cpu, 1 / 12, "less", "s")
    for name, title, rate, mails in peers.OTHERS:
        if part("peers", name):
            table.add(f"send 20,000 on 20 connections / {title}", lambda: (send(20_000, 20), rate(mails)))


def enqueues(table, part, with_peers):
    if part("enqueue"):
        table.add("enqueue, one process one mail / sqlite3 shell", single, 1.0, "less", "s")
        if with_peers:
            import peers
            table.add("enqueue, one process one mail / nullmailer-inject", peers.inject, 0.75, "less", "s")
        crowds = [(crowd(enqueue_args), crowd(shell_args)) for _ in range(table.runs)]
        table.pairs("enqueue, 16 at once: rate / sqlite3 shell", [(ours[0], theirs[0]) for ours, theirs in crowds], 1.2)
        table.pairs("enqueue, 16 at once: p99 / sqlite3 shell", [(ours[1], theirs[1]) for ours, theirs in crowds], 0.5, "less", "s")
    if part("enqueue", "beside"):
        worst = []
        def neighbour():
            busy, idle, longest = beside()
            worst.append(longest)
            return busy, idle
        table.add("enqueue p99 beside a full-rate send-batch / idle", neighbour, 3, "less", "s")
        table.figure("its longest, s", [max(worst)], 0.1)
    if part("idle"):
        table.add("send-batch with nothing due / sqlite3 SELECT", nothing_due, 1.3, "less", "s")
    if part("bulk"):
        table.add("enqueue --bulk of 200,000 JSON Lines / sqlite3 .import", lambda: bulk(200_000), 0.3)


def large_tables(table, part, rows, due):
    if part("claim"):
        table.add(f"claim of 500 at {rows:,} SENT and {rows // 25:,} scheduled / 10,000", lambda: claim(rows), 1.6, "less", "s")
    if part("stats"):
        table.add(f"stats at {rows:,} rows / GROUP BY status", lambda: stats(rows), 0.25, "less", "s")
        table.add(f"stats at {rows:,} rows / at 10,000", lambda: flat(rows), 1.5, "less", "s")
    if part("prune"):
        rate, p99, wal = zip(*(prune(due) for _ in range(table.runs)))
        table.figure(f"prune of {due:,} beside an inserter, rows/s", rate, 100_000, "more")
        table.figure("the inserter's p99, ms", p99, 5)
        table.figure("the WAL, MiB", wal, 32)


def main():
    # run.sh looks for --peers as it is written.
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--large", action="store_true", help="five million rows for claim and stats, one million for the others")
    parser.add_argument("--peers", action="store_true", help="beside Postfix (needs root and the package installed), huey, "
                        "django-post_office, nullmailer and msmtp too")
    parser.add_argument("--json")
    args = parser.parse_args()
    wanted = [name for name in args.only.split(",") if name]
    rows, due = (5_000_000, 1_000_000) if args.large else (500_000, 100_000)
    table = Table(args.runs)

    def part(*names):
        return not wanted or any(name in wanted for name in names)

    sends(table, part, due)
    if args.peers:
        peer_sends(table, part)
    enqueues(table, part, args.peers)
    large_tables(table, part, rows, due)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(dict(machine=list(os.uname()), cores=os.cpu_count(), rows=table.rows), f, indent=1)
    sys.exit(0)


if __name__ == "__main__":
    main()
