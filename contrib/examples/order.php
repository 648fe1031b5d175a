<?php
// An order and the mail about it, in one transaction.

$db = new PDO('sqlite:' . ($argv[1] ?? 'app.db'));
$db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
// For the moment in which mailq writes, in seconds.
$db->setAttribute(PDO::ATTR_TIMEOUT, 10);
$db->exec('CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, buyer TEXT NOT NULL)');

function order(PDO $db, int $number, string $name, string $address): void
{
    // PDO's beginTransaction() would take the write lock too late to wait for it.
    $db->exec('BEGIN IMMEDIATE');
    try {
        $db->prepare('INSERT INTO orders (number, buyer) VALUES (?, ?)')->execute([$number, $name]);
        $db->prepare(
            'INSERT INTO email_messages (to_addrs, template, parameters, idempotency_key) VALUES (?, ?, ?, ?)'
        )->execute([
            "\"$name\" <$address>",
            'welcome',
            json_encode(['name' => $name], JSON_THROW_ON_ERROR),
            "order-$number",
        ]);
        $db->exec('COMMIT');
    } catch (Throwable $error) {
        $db->exec('ROLLBACK');
        throw $error;
    }
}

order($db, 17, 'Ada', 'ada@example.com');
try {
    order($db, 18, 'Eve', "eve@example.com\r\nBcc: everybody@example.com");
} catch (PDOException $refused) {
    echo 'refused, with its order: ', $refused->getMessage(), "\n";
}
