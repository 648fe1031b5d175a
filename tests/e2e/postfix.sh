#!/usr/bin/env bash
# A private Postfix, with Dovecot for AUTH, on loopback. All of it lives below one directory and goes away with it;
# nothing in /etc is read or changed, and mail leaves it for nowhere but its Maildirs.
#
#   postfix.sh start DIR   starts it and writes DIR/env: PORT (STARTTLS and AUTH required), USER_NAME, PASSWORD,
#                          CA_FILE, MAILDIR, QUEUE (Postfix's own, empty when all is delivered)
#   postfix.sh stop DIR    stops what start started; DIR stays
#
# Mail to anyone@example.test lands in one Maildir, a copy a recipient, and Postfix writes at its head whom the copy
# is for (Delivered-To). Some recipients are refused: tempfail*@ with 451, reject*@ with 550. The certificate is made by a CA of its own for localhost and 127.0.0.1.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
verb=$1
dir=$(readlink -m "$2")

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Ends the process whose number is in this file, and waits until it has gone.
stop_pid() {
    local pid
    pid=$(tr -d ' \n' <"$1" 2>/dev/null) || return 0
    [ -n "$pid" ] || return 0
    kill "$pid" 2>/dev/null || return 0
    for ((i = 0; i < 200; i++)); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.05
    done
    kill -9 "$pid" 2>/dev/null || true
}

certificates() {
    cd "$dir"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -keyout ca.key -out ca.pem \
        -subj '/CN=mailq end-to-end CA' -addext basicConstraints=critical,CA:TRUE \
        -addext keyUsage=critical,keyCertSign,cRLSign
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key -out server.csr \
        -subj '/CN=localhost'
    printf '%s\n' 'subjectAltName=DNS:localhost,IP:127.0.0.1' extendedKeyUsage=serverAuth basicConstraints=CA:FALSE \
        >server.ext
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out server.pem \
        -extfile server.ext
    chmod 600 ca.key server.key
}

write_postfix() {
    cat >"$dir/etc/main.cf" <<CF
compatibility_level = 3.6
queue_directory = $dir/spool
data_directory = $dir/data
maillog_file = $dir/log/mail.log
maillog_file_prefixes = $dir
myhostname = localhost
mydomain = example.test
mydestination =
inet_interfaces = loopback-only
inet_protocols = ipv4
smtputf8_enable = yes
local_header_rewrite_clients =
default_transport = error:no mail leaves this host
relay_transport = error:no mail leaves this host
local_transport = error:no local mail
alias_maps =
alias_database =
local_recipient_maps =
message_size_limit = 10485760
virtual_mailbox_limit = 0
virtual_mailbox_domains = example.test
virtual_mailbox_base = $dir/mail
virtual_mailbox_maps = static:all/
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
virtual_transport = virtual
smtpd_tls_cert_file = $dir/server.pem
smtpd_tls_key_file = $dir/server.key
smtpd_tls_security_level = encrypt
smtpd_tls_auth_only = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = private/auth
smtpd_sasl_auth_enable = yes
smtpd_client_restrictions = permit_sasl_authenticated, reject
smtpd_recipient_restrictions = check_recipient_access regexp:$dir/etc/refusals, reject_unauth_destination
smtpd_relay_restrictions = permit_sasl_authenticated, reject
CF
    printf '%s\n' '/^tempfail/ 451 4.3.0 try again later' '/^reject/ 550 5.1.1 no such user here' >"$dir/etc/refusals"
    cat >"$dir/etc/master.cf" <<CF
127.0.0.1:$port inet n - n - - smtpd
pickup    unix  n - n 60 1 pickup
cleanup   unix  n - n - 0 cleanup
qmgr      unix  n - n 300 1 qmgr
tlsmgr    unix  - - n 1000? 1 tlsmgr
rewrite   unix  - - n - - trivial-rewrite
bounce    unix  - - n - 0 bounce
defer     unix  - - n - 0 bounce
trace     unix  - - n - 0 bounce
verify    unix  - - n - 1 verify
flush     unix  n - n 1000? 0 flush
proxymap  unix  - - n - - proxymap
error     unix  - - n - - error
retry     unix  - - n - - error
discard   unix  - - n - - discard
virtual   unix  - n n - - virtual
anvil     unix  - - n - 1 anvil
scache    unix  - - n - 1 scache
postlog   unix-dgram n - n - 1 postlogd
CF
}

write_dovecot() {
    cat >"$dir/dovecot/dovecot.conf" <<CF
base_dir = $dir/dovecot/run
state_dir = $dir/dovecot/state
log_path = $dir/log/dovecot.log
protocols =
listen = 127.0.0.1
ssl = no
auth_mechanisms = plain login
auth_failure_delay = 0
disable_plaintext_auth = no
passdb {
  driver = passwd-file
  args = scheme=PLAIN username_format=%u $dir/dovecot/users
}
userdb {
  driver = static
  args = uid=65534 gid=65534 home=$dir/mail/%n allow_all_users=yes
}
service auth {
  unix_listener $dir/spool/private/auth {
    mode = 0660
    user = postfix
    group = postfix
  }
}
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
CF
    printf '%s:{PLAIN}%s\n' "$user_name" "$password" >"$dir/dovecot/users"
}

start() {
    mkdir -p "$dir"/{etc,spool/pid,data,mail,dovecot,log}
    # Postfix and Dovecot change to users of their own before they read below it.
    chmod 755 "$dir"
    chown postfix "$dir/data"
    chown 65534:65534 "$dir/mail"
    install -d -o postfix -m 700 "$dir/spool/private"
    port=$(free_port)
    user_name=tester@example.test
    password='s3cret with a space'
    (certificates) >"$dir/log/openssl.log" 2>&1
    write_postfix
    write_dovecot
    dovecot -c "$dir/dovecot/dovecot.conf"
    postfix -c "$dir/etc" check >>"$dir/log/postfix.log" 2>&1 || true
    postfix -c "$dir/etc" start >>"$dir/log/postfix.log" 2>&1
    for ((i = 0; i < 200; i++)); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            printf '%s\n' "PORT=$port" "USER_NAME=$user_name" "PASSWORD='$password'" "CA_FILE=$dir/ca.pem" \
                "MAILDIR=$dir/mail/all" "QUEUE=$dir/spool" >"$dir/env"
            return
        fi
        sleep 0.05
    done
    echo "postfix.sh: Postfix does not answer on port $port" >&2
    cat "$dir/log/"*.log >&2
    return 1
}

case $verb in
start) start ;;
stop)
    stop_pid "$dir/spool/pid/master.pid"
    stop_pid "$dir/dovecot/run/master.pid"
    ;;
*)
    echo "usage: postfix.sh start|stop DIR" >&2
    exit 64
    ;;
esac
