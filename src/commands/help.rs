//! What `--help` and the man pages say beside the options: exit codes, examples, files.

/// The documented exit codes; `exit` ends with no other one.
pub const EXIT_CODES: &str = "\
Questions:
  Is it flowing?                  mailq stats
  Why did this mail not go out?   mailq show ID
  What is wrong with the others?  mailq list --status FAILED
  What do I do now?               mailq retry ID, mailq cancel ID, mailq hold QUEUE;
                                  for an outage or a wrong password: mailq check

Exit codes:
   0  done, and durable
  64  the command line is wrong
  65  an address, JSON, a template or the text encoding is wrong
  66  an input file, an attachment or a mail id is missing
  70  a bug in mailq
  73  a file cannot be created
  74  reading or writing failed
  75  try again: the database is busy, the disk is full, the smarthost is out
  77  permission denied
  78  the configuration is wrong

With thresholds, stats ends with 0, 1 (warning) or 2 (critical).

`mailq COMMAND --help` tells the options of a command.";

pub const ENQUEUE: &str = "\
Values:
  A duration is written 90s, 2m, 1h 30m or 30d. TIME is 2026-12-24T09:00:00+01:00,
  '2026-12-24 09:00 Europe/Berlin' or +2d; without a zone it is this host's time, and mailq
  says so. A time that the clocks leave out is as much later; one that comes twice is the first
  of the two; one that is past is now.
  A value that begins with @ names a file; text that begins with @ goes into a file.

Examples:
  mailq enqueue --to 'Ada <ada@example.com>' --template welcome --param name=Ada
  mailq enqueue --to ada@example.com --subject 'Backup failed' --body - < backup.log
  mailq enqueue --to ada@example.com --template order_confirmation --params @order.json \\
      --attach invoice.pdf --key order-17
  mailq enqueue --to ada@example.com --template alert --param-json 'load=[1.5, 2]' \\
      --in 10m --expires-in 1h --queue urgent";

pub const SEND_BATCH: &str = "\
Ends with 0 when it did its work, mails that were deferred or failed included, and with 75
when the smarthost was out. A queue that meets its rate ends a run with 0, which says when
more may go. SIGTERM and SIGINT let it finish the mails in hand, and wait for no server that
has none; the second one ends it at once.

Examples:
  mailq send-batch
  mailq send-batch --queue urgent --limit 100 --time-limit 50s
  mailq send-batch --queue newsletter --wait --time-limit 55s";

pub const REAP: &str = "\
Examples:
  mailq reap
  mailq reap --older-than 10m --dry-run";

pub const PRUNE: &str = "\
Mails that are PENDING or SENDING are never deleted.

Examples:
  mailq prune
  mailq prune --older-than 7d --status SENT --archive sent.jsonl";

pub const STATS: &str = "\
With thresholds the first line is the verdict, as monitoring plugins print it, and the exit
code is 0 (ok), 1 (warning) or 2 (critical). What could not be looked at ends with a code of
the table of mailq(1). The mails of a queue that is held count for no threshold of age.

Examples:
  mailq stats
  mailq stats --since 1h --max-pending-age 10m --max-failed-ratio 5% --max-silence 15m
  mailq stats --group newsletter-2026-11
  mailq stats --prometheus --output /var/lib/node_exporter/mailq.prom";

pub const LIST: &str = "\
Examples:
  mailq list --status FAILED --since 1d
  mailq list --to ada@example.com --json
  mailq list --template welcome --failure render --ids | mailq retry -
  mailq list --histogram domain";

pub const SHOW: &str = "\
Examples:
  mailq show 17
  mailq show 17 --rendered
  mailq show 17 --raw > mail.eml";

pub const HOLD: &str = "\
The mails stay as they are; those whose time is over expire. `send-batch` leaves the queue
out, and mails that are in hand go on to their end.

Examples:
  mailq hold newsletter --reason 'wrong template'";

pub const RELEASE: &str = "\
Examples:
  mailq release newsletter";

pub const WAIT: &str = "\
Ends with 0 when all are SENT, with 65 when one FAILED, with 66 when one is not there, and
with 75 when the time is over and one still waits. It only reads: nothing is sent faster.

Examples:
  mailq wait 17 --timeout 2m
  mailq wait --group newsletter-2026-11
  mailq enqueue --to ada@example.com --subject Hi --body Hi | mailq wait - --timeout 5s";

pub const RETRY: &str = "\
Examples:
  mailq retry 17 18
  mailq retry --status FAILED --failure rejected --since 1d --yes";

pub const CANCEL: &str = "\
Examples:
  mailq cancel 17
  mailq cancel --queue newsletter --status PENDING --yes";

pub const SUPPRESS: &str = "\
A mail that only suppressed people are left to get becomes FAILED `suppressed`; where there
are others, they get it and the mail is SENT; `show` says who was left out. Upper and lower case are the same.

Examples:
  mailq suppress add ada@example.com --reason 'asked by phone'
  mailq suppress import unsubscribed.csv --reason unsubscribed
  mailq suppress list --json";

pub const RENDER: &str = "\
Examples:
  mailq render --template welcome --param name=Ada
  mailq render --template welcome --needs
  mailq render --mail 17 --output mail.eml";

pub const CHECK: &str = "\
Connects to the smarthost and logs in; one that was left alone after an outage and lets us in
is not left alone any longer. Ends with the code of the first problem, and with 0 without one.

Examples:
  mailq check
  mailq check --offline --json";
