<?php
// PHP with nothing but its openssl extension: everything around the signature is the caller's.
// Usage: php_openssl.php FOLDER (pem/<kid>.pem, cases.tsv)
$folder = $argv[1];
$decode = fn(string $part) => base64_decode(strtr($part, '-_', '+/'), true);
$integer = function (string $bytes): string {
    $trimmed = ltrim($bytes, "\0");
    if ($trimmed === '' || ord($trimmed[0]) > 127) $trimmed = "\0" . $trimmed;
    return "\x02" . chr(strlen($trimmed)) . $trimmed;
};
$refusal = function (string $token) use ($folder, $decode, $integer): ?string {
    $parts = explode('.', $token);
    if (count($parts) !== 3) return 'form';
    $header = json_decode($decode($parts[0]) ?: '', true);
    if (($header['alg'] ?? '') !== 'ES256') return 'algorithm';
    $pem = @file_get_contents($folder . '/pem/' . basename($header['kid'] ?? '') . '.pem');
    if ($pem === false) return 'unknown kid';
    $raw = $decode($parts[2]);
    if ($raw === false || strlen($raw) !== 64) return 'signature';
    $body = $integer(substr($raw, 0, 32)) . $integer(substr($raw, 32));
    $der = "\x30" . chr(strlen($body)) . $body;
    if (openssl_verify($parts[0] . '.' . $parts[1], $der, $pem, OPENSSL_ALGO_SHA256) !== 1) return 'signature';
    return json_decode($decode($parts[1]), true)['exp'] > time() ? null : 'expired';
};
foreach (file("$folder/cases.tsv", FILE_IGNORE_NEW_LINES) as $line) {
    [$name, $token] = explode("\t", $line);
    $why = $refusal($token);
    echo $name, "\t", $why === null ? 'accept' : 'refuse', "\t", $why, "\n";
}
