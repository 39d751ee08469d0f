import type * as english from './texts.ts'

export const texts: typeof english.texts = {
  loading: 'Einen Moment …',
  again: 'Erneut versuchen',
  request: 'Anfrage {id}',
  test: 'Test',
  reasonElse: 'Grund: {code}',
}

export const signInTexts: typeof english.signInTexts = {
  button: 'Mit Ihrem Passkey anmelden',
  wait: 'Einen Moment …',
  waitDevice: 'Folgen Sie den Anweisungen Ihres Geräts …',
  lost: 'Passkey verloren? Verwenden Sie einen Wiederherstellungscode.',
  how: 'So funktioniert es',
}

export const reasonTexts: typeof english.reasonTexts = {
  quality_low: 'Insgesamt sprach zu wenig für einen aufmerksamen Menschen.',
  focus_low: 'Die Seite war lange im Hintergrund.',
  flag_automation_env: 'Der Browser meldet, dass ein Programm ihn steuert.',
  flag_untrusted_events: 'Manche Eingaben kamen von einem Skript, nicht von einem Menschen.',
  flag_replay_match: 'Die Bewegungen stimmen mit einer früheren Aufzeichnung überein.',
  flag_honeypot_hit: 'Es wurde etwas gedrückt, das ein Mensch nicht sehen kann.',
  flag_impossible_timing: 'Manche Antworten kamen schneller, als ein Mensch reagieren kann.',
  flag_clock_skew: 'Die Uhr Ihres Geräts und unsere stimmen nicht überein.',
  flag_chain_broken: 'Teile der Aufzeichnung fehlen oder wurden verändert.',
  flag_nonce_reuse: 'Zwei Teile der Aufzeichnung tragen dieselbe Quittung.',
  flag_device_shared: 'Dieses Gerät wird von vielen Menschen benutzt.',
  records_gone: 'Die Aufzeichnung wurde gelöscht, bevor sie bewertet werden konnte.',
  scoring_failed: 'Die Aufzeichnung konnte nicht bewertet werden.',
}

export const failureTexts: typeof english.failureTexts = {
  unsupported: 'Dieser Browser unterstützt keine Passkeys. Verwenden Sie einen neueren oder Ihr Handy.',
  offline: 'Der Dienst hat nicht geantwortet. Prüfen Sie die Verbindung und versuchen Sie es noch einmal.',
  unreachable:
    'Der Dienst hat nicht geantwortet. Prüfen Sie die Verbindung und versuchen Sie es noch einmal.',
  sign_in_required: 'Bitte melden Sie sich erneut an.',
  session_expired: 'Die Aufzeichnung dauerte länger als eine Stunde.',
  session_not_ready: 'Die Aufzeichnung wird noch geprüft.',
  forbidden: 'Das ist von dieser Seite aus nicht möglich. Laden Sie sie neu.',
  failed: 'Etwas ist schiefgegangen.',
}
