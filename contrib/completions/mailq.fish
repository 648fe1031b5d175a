# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_mailq_global_optspecs
    string join \n config= db= json v/verbose q/quiet h/help V/version
end

function __fish_mailq_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_mailq_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_mailq_using_subcommand
    set -l cmd (__fish_mailq_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c mailq -n "__fish_mailq_needs_command" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_needs_command" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_needs_command" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_needs_command" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_needs_command" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_needs_command" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_needs_command" -s V -l version -d 'Print version'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "enqueue" -d 'Put a mail into the queue. Prints its id when it is on disk'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "send-batch" -d 'Send what is due, until nothing is'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "reap" -d 'Return the mails of senders that died'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "prune" -d 'Delete mails that finished long ago, and attachments nobody refers to'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "stats" -d 'Count mails by queue and state; age, ratios, durations'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "list" -d 'List mails'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "show" -d 'Show all of one mail, and why it did not go out'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "retry" -d 'Give FAILED mails another chance; make waiting ones due now'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "cancel" -d 'Take waiting mails out of the queue'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "hold" -d 'Hold queues: nothing of them is sent until they are released'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "release" -d 'Release queues that are held'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "wait" -d 'Wait until mails are SENT or FAILED'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "suppress" -d 'Say who is to get no mail'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "render" -d 'Show what a template makes of parameters'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "check" -d 'Look over configuration, database, templates, spool and smarthost'
complete -c mailq -n "__fish_mailq_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l to -d 'Recipients: RFC 5322 address lists (`Ada <ada@example.com>, bob@example.com`)' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l cc -d 'More recipients, shown to all' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l bcc -d 'Recipients whom nobody sees' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l from -d 'The sender [default: `from` in the configuration]' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l reply-to -d 'Where answers go' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l template -d 'The template' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l locale -d 'Its language: NAME/LOCALE/ is used over NAME/' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l param -d 'A parameter that is a text' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l param-json -d 'A parameter that is any JSON' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l params -d 'All parameters as a JSON object: the text, `@FILE`, or `-` for stdin' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l subject -d 'The subject of a mail without a template' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l body -d 'Its text: the text, `@FILE`, or `-` for stdin; `@@` begins a text with an @' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l html -d 'Its HTML: the text or `@FILE`; `@@` begins a text with an @' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l attach -d 'Attach a file: it is copied now' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l inline -d 'An image in the HTML, shown where it says `cid:CID`' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l header -d 'A further header (`Name: value`)' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l list-unsubscribe -d 'Where a reader\'s mail program unsubscribes: an https address, at which one POST does it (RFC 8058)' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l queue -d 'The queue it waits in' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l at -d 'When to send it: `2026-12-24T09:00:00+01:00`, `2026-12-24 09:00 Europe/Berlin`, or `+2d`' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l in -d 'How long from now to send it' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l expires-in -d 'Do not send it later than so long after it is due' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l key -d 'A name for this mail: the same one again stores no second mail, and prints the first one\'s id' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l suppress-for -d 'With --key: one mail of this key and template in so long; the others are counted, and the next mail tells how many (the parameter `repeats`)' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l group -d 'A name for mails that belong together' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l max-attempts -d 'After how many attempts to give up [default: as configured]' -r
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l bulk -d 'One mail a line of JSON Lines or CSV, over the other options as defaults: all of them or none; `-` is stdin' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l skip-bad -d 'With --bulk: store the good lines, and write the bad ones into this file' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l strict -d 'Treat warnings as errors'
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -l dry-run -d 'Check all and show what would be stored; store nothing'
complete -c mailq -n "__fish_mailq_using_subcommand enqueue" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l queue -d 'Only mails of this queue' -r
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l limit -d 'How many mails to send at most' -r
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l batch-size -d 'How many mails a transaction claims at most [default: as configured, 100]' -r
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l concurrency -d 'How many connections to use [default: as configured, 4]' -r
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l time-limit -d 'How long to begin new mails' -r
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l wait -d 'Where a rate is met, wait until more may go, instead of ending'
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -l dry-run -d 'Render what is due and say what would happen; send and change nothing'
complete -c mailq -n "__fish_mailq_using_subcommand send-batch" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand reap" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand reap" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand reap" -l older-than -d 'How old a lease must be to be over [default: the configured lease, 2m]' -r
complete -c mailq -n "__fish_mailq_using_subcommand reap" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand reap" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand reap" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand reap" -l dry-run -d 'Say what would be done; do nothing'
complete -c mailq -n "__fish_mailq_using_subcommand reap" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand prune" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand prune" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand prune" -l older-than -d 'How long ago a mail must have finished [default: as configured, SENT 30d and FAILED 90d]' -r
complete -c mailq -n "__fish_mailq_using_subcommand prune" -l status -d 'Only mails in this state [default: both]' -r -f -a "SENT\t''
FAILED\t''"
complete -c mailq -n "__fish_mailq_using_subcommand prune" -l batch-size -d 'How many mails a transaction deletes' -r
complete -c mailq -n "__fish_mailq_using_subcommand prune" -l pause -d 'How long to leave others alone after each transaction, at least; as long as it took, if that is longer' -r
complete -c mailq -n "__fish_mailq_using_subcommand prune" -l archive -d 'Append the mails to this JSON Lines file, on disk before they are deleted' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand prune" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand prune" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand prune" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand prune" -l dry-run -d 'Say what would be deleted; delete nothing'
complete -c mailq -n "__fish_mailq_using_subcommand prune" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l since -d 'How far back ratios, durations and rates look' -r
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l queue -d 'Only this queue' -r
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l group -d 'Instead: how far the mails of this group are, and about when they will be through' -r
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l output -d 'Replace this file with the figures, all at once, instead of printing them' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l max-pending-age -d 'Exit 1 if a mail is due for longer than this, 2 if for more than twice as long' -r
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l max-failed-ratio -d 'Exit 1 if a larger share than this (`5%`, `0.05`) FAILED, 2 if twice as large a one, or one half-way to all' -r
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l max-silence -d 'Exit 1 if no run of send-batch ended well for so long, 2 if for more than twice as long, or if none ever did' -r
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand stats" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand stats" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l prometheus -d 'Print in Prometheus\' text format, for its textfile collector'
complete -c mailq -n "__fish_mailq_using_subcommand stats" -l html -d 'Print a page for a browser'
complete -c mailq -n "__fish_mailq_using_subcommand stats" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand list" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand list" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand list" -l status -d 'Only mails in this state' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l queue -d 'Only mails of this queue' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l failure -d 'Only FAILED mails with this reason: `rejected`, `exhausted`, `expired`, `render`, `attachment`, `invalid`, `cancelled`, `suppressed`, `worker-lost` or `unknown-outcome`' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l to -d 'Only mails to an address with this text in it' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l template -d 'Only mails with this template' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l key -d 'Only the mail with this idempotency key' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l group -d 'Only mails of this group' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l since -d 'Only mails created since then: so long ago (`2h`), or a TIME' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l until -l older-than -d 'Only mails created before then, so older than that' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l sort -d 'What to list by; the last in this order comes last' -r -f -a "id\t''
due\t''
finished\t''
attempts\t''"
complete -c mailq -n "__fish_mailq_using_subcommand list" -l limit -d 'The last so many; 0 for all [default: 50, with --ids all]' -r
complete -c mailq -n "__fish_mailq_using_subcommand list" -l histogram -d 'Count what waits by age in minutes, as Postfix\'s qshape does' -r -f -a "domain\t'The recipients\' domains; a mail counts once for each'
template\t''
queue\t''"
complete -c mailq -n "__fish_mailq_using_subcommand list" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand list" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand list" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand list" -l ids -d 'Print the ids alone, for `mailq retry -` and the like'
complete -c mailq -n "__fish_mailq_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mailq -n "__fish_mailq_using_subcommand show" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand show" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand show" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand show" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand show" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand show" -l rendered -d 'Show one mail as it would go out now: who gets it, subject and text'
complete -c mailq -n "__fish_mailq_using_subcommand show" -l raw -d 'Print the bytes that would go out now, attachments and signature included'
complete -c mailq -n "__fish_mailq_using_subcommand show" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l status -d 'Only mails in this state' -r
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l queue -d 'Only mails of this queue' -r
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l failure -d 'Only FAILED mails with this reason: `rejected`, `exhausted`, `expired`, `render`, `attachment`, `invalid`, `cancelled`, `suppressed`, `worker-lost` or `unknown-outcome`' -r
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l to -d 'Only mails to an address with this text in it' -r
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l template -d 'Only mails with this template' -r
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l key -d 'Only the mail with this idempotency key' -r
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l group -d 'Only mails of this group' -r
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l since -d 'Only mails created since then: so long ago (`2h`), or a TIME' -r
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l until -l older-than -d 'Only mails created before then, so older than that' -r
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand retry" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand retry" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand retry" -l yes -d 'Yes, all that the filter finds'
complete -c mailq -n "__fish_mailq_using_subcommand retry" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l status -d 'Only mails in this state' -r
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l queue -d 'Only mails of this queue' -r
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l failure -d 'Only FAILED mails with this reason: `rejected`, `exhausted`, `expired`, `render`, `attachment`, `invalid`, `cancelled`, `suppressed`, `worker-lost` or `unknown-outcome`' -r
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l to -d 'Only mails to an address with this text in it' -r
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l template -d 'Only mails with this template' -r
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l key -d 'Only the mail with this idempotency key' -r
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l group -d 'Only mails of this group' -r
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l since -d 'Only mails created since then: so long ago (`2h`), or a TIME' -r
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l until -l older-than -d 'Only mails created before then, so older than that' -r
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -l yes -d 'Yes, all that the filter finds'
complete -c mailq -n "__fish_mailq_using_subcommand cancel" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand hold" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand hold" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand hold" -l reason -d 'Why: `stats`, `show` and the listing tell it' -r
complete -c mailq -n "__fish_mailq_using_subcommand hold" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand hold" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand hold" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand hold" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand release" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand release" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand release" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand release" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand release" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand release" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand wait" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand wait" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand wait" -l group -d 'The mails of this group, instead of ids' -r
complete -c mailq -n "__fish_mailq_using_subcommand wait" -l timeout -d 'How long to wait at most [default: without end]' -r
complete -c mailq -n "__fish_mailq_using_subcommand wait" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand wait" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand wait" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand wait" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -f -a "add" -d 'Send nothing to these addresses from now on'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -f -a "remove" -d 'Send to these addresses again'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -f -a "list" -d 'List who is to get no mail'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -f -a "import" -d 'Read addresses from a file: all of them or none'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and not __fish_seen_subcommand_from add remove list import help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from add" -l reason -d 'Why, for the list and for the mails that are not sent' -r
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from add" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from add" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from add" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from remove" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from remove" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from remove" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from list" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from list" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from list" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from import" -l reason -d 'The reason for those that have none' -r
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from import" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from import" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from import" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from import" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from import" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from help" -f -a "add" -d 'Send nothing to these addresses from now on'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Send to these addresses again'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from help" -f -a "list" -d 'List who is to get no mail'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from help" -f -a "import" -d 'Read addresses from a file: all of them or none'
complete -c mailq -n "__fish_mailq_using_subcommand suppress; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c mailq -n "__fish_mailq_using_subcommand render" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand render" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand render" -l template -d 'The template' -r
complete -c mailq -n "__fish_mailq_using_subcommand render" -l locale -d 'Its language: NAME/LOCALE/ is used over NAME/' -r
complete -c mailq -n "__fish_mailq_using_subcommand render" -l param -d 'A parameter that is a text' -r
complete -c mailq -n "__fish_mailq_using_subcommand render" -l param-json -d 'A parameter that is any JSON' -r
complete -c mailq -n "__fish_mailq_using_subcommand render" -l params -d 'All parameters as a JSON object: the text, `@FILE`, or `-` for stdin' -r
complete -c mailq -n "__fish_mailq_using_subcommand render" -l subject -d 'The subject of a mail without a template' -r
complete -c mailq -n "__fish_mailq_using_subcommand render" -l body -d 'Its text: the text, `@FILE`, or `-` for stdin; `@@` begins a text with an @' -r
complete -c mailq -n "__fish_mailq_using_subcommand render" -l html -d 'Its HTML: the text or `@FILE`; `@@` begins a text with an @' -r
complete -c mailq -n "__fish_mailq_using_subcommand render" -l mail -d 'Render this mail of the queue instead' -r
complete -c mailq -n "__fish_mailq_using_subcommand render" -l output -d 'Put it into this file: the whole message for a name that ends in `.eml`, its HTML for `.html`, its text for `.txt`' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand render" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand render" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand render" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand render" -l needs -d 'List the parameters that the template needs, and those that it can do without, instead'
complete -c mailq -n "__fish_mailq_using_subcommand render" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand check" -l config -d 'The configuration [default: $MAILQ_CONFIG, else /etc/mailq/config.toml, which may be missing]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand check" -l db -d 'The database [default: $MAILQ_DB, else `database` in the configuration, else /var/lib/mailq/mailq.db]' -r -F
complete -c mailq -n "__fish_mailq_using_subcommand check" -l json -d 'Print results as JSON'
complete -c mailq -n "__fish_mailq_using_subcommand check" -s v -l verbose -d 'Say more on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand check" -s q -l quiet -d 'Say only what is wrong on stderr'
complete -c mailq -n "__fish_mailq_using_subcommand check" -l offline -d 'Do not connect to the smarthost'
complete -c mailq -n "__fish_mailq_using_subcommand check" -l create -d 'Create the database where it is missing'
complete -c mailq -n "__fish_mailq_using_subcommand check" -s h -l help -d 'Print help'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "enqueue" -d 'Put a mail into the queue. Prints its id when it is on disk'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "send-batch" -d 'Send what is due, until nothing is'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "reap" -d 'Return the mails of senders that died'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "prune" -d 'Delete mails that finished long ago, and attachments nobody refers to'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "stats" -d 'Count mails by queue and state; age, ratios, durations'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "list" -d 'List mails'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "show" -d 'Show all of one mail, and why it did not go out'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "retry" -d 'Give FAILED mails another chance; make waiting ones due now'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "cancel" -d 'Take waiting mails out of the queue'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "hold" -d 'Hold queues: nothing of them is sent until they are released'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "release" -d 'Release queues that are held'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "wait" -d 'Wait until mails are SENT or FAILED'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "suppress" -d 'Say who is to get no mail'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "render" -d 'Show what a template makes of parameters'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "check" -d 'Look over configuration, database, templates, spool and smarthost'
complete -c mailq -n "__fish_mailq_using_subcommand help; and not __fish_seen_subcommand_from enqueue send-batch reap prune stats list show retry cancel hold release wait suppress render check help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c mailq -n "__fish_mailq_using_subcommand help; and __fish_seen_subcommand_from suppress" -f -a "add" -d 'Send nothing to these addresses from now on'
complete -c mailq -n "__fish_mailq_using_subcommand help; and __fish_seen_subcommand_from suppress" -f -a "remove" -d 'Send to these addresses again'
complete -c mailq -n "__fish_mailq_using_subcommand help; and __fish_seen_subcommand_from suppress" -f -a "list" -d 'List who is to get no mail'
complete -c mailq -n "__fish_mailq_using_subcommand help; and __fish_seen_subcommand_from suppress" -f -a "import" -d 'Read addresses from a file: all of them or none'
