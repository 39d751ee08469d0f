/** Every text that a person sees, one table for each language, with `{placeholders}`. */
const en = {
  button: 'Confirm that you are a person',
  idle: 'About 15 seconds. Nothing is recorded before you start.',
  running: 'The check is running.',
  done: 'Check finished.',
  doneNext: 'It goes along when you send the form.',
  failed: 'The check was not finished.',
  offline: 'You are offline.',
  offlineNext: 'The check needs a connection. Connect, then try again.',
  again: 'Try again',
  missing: 'Please confirm that you are a person.',

  askTitle: 'Three short questions',
  askLead:
    'About 15 seconds. Each time, press the one ring that has a gap. This shows the site that a person is here.',
  recorded:
    'Recorded until the check ends: how you move and scroll on this page, when you press keys, and the window size. Never what you type, what the page says, or who you are. {host} receives it, and this site can see it.',
  privacy:
    'Your browser asks sites not to share data. We take that as a no, unless you agree here, for this check only.',
  start: 'Start',
  agree: 'I agree, start',
  agreeAlternative: 'I agree, and do not use a pointer',
  alternative: 'I do not use a pointer',
  notNow: 'Not now',
  leave: 'Leave the check',

  opening: 'One moment …',
  question: 'Question {n} of {of}',
  more: 'A few more, to be sure: question {n} of {of}',
  wait: 'Get ready …',
  point: 'Press the ring with a gap.',
  picture: 'A picture of rings. One has a gap.',
  took: 'Thank you.',
  missed: 'Too late, no harm. Next one …',
  keys: 'Press a number, or Tab and Enter.',
  ending: 'Thank you. Finishing …',

  stuck: 'This takes too long.',
  stuckLost: 'The connection is gone. We keep trying, and go on from here when it is back.',
  stuckSlow: 'The service answers, but no question came for 10 seconds.',
  stuckAway: 'No question was answered for a while. Start again when you have a moment.',
  without: 'Go on without the check',
  close: 'Close',
  closeNext: 'This site asks for the check. You can come back to it at any time.',

  why: {
    skipped: 'You went on without it. The site may ask you again.',
    left: 'You left before the end. Nothing of it is used.',
    unreachable: 'The service did not answer. Check your connection and try again.',
    session_expired: 'It took too long, and the time for it ran out. Try again.',
    unsupported: 'This browser cannot do it, or the page is not on HTTPS. A newer browser can.',
    not_found: 'This page is not set up for the check. Tell the site.',
    forbidden: 'This page may not use the check. Tell the site.',
    rate_limited: 'There were too many checks from here. Wait a minute and try again.',
  } as Readonly<Record<string, string>>,
  whyElse: 'Something went wrong on our side. Try again.',
}
export type Messages = typeof en

const de: Messages = {
  button: 'Als Mensch bestätigen',
  idle: 'Etwa 15 Sekunden. Nichts wird aufgezeichnet, bevor Sie beginnen.',
  running: 'Die Prüfung läuft.',
  done: 'Prüfung beendet.',
  doneNext: 'Sie geht mit dem Formular mit.',
  failed: 'Die Prüfung wurde nicht beendet.',
  offline: 'Sie sind offline.',
  offlineNext: 'Die Prüfung braucht eine Verbindung.',
  again: 'Noch einmal versuchen',
  missing: 'Bitte bestätigen, dass Sie ein Mensch sind.',

  askTitle: 'Drei kurze Fragen',
  askLead:
    'Etwa 15 Sekunden. Drücken Sie jedes Mal auf den Ring mit der Lücke. Das zeigt der Seite, dass ein Mensch hier ist.',
  recorded:
    'Aufgezeichnet wird, bis die Prüfung endet: wie Sie sich auf der Seite bewegen und rollen, wann Sie Tasten drücken und wie groß das Fenster ist. Nie, was Sie tippen, was die Seite sagt oder wer Sie sind. {host} bekommt es, und diese Seite kann es sehen.',
  privacy:
    'Ihr Browser bittet, keine Daten weiterzugeben. Das ist für uns ein Nein, außer Sie stimmen hier zu, nur für diese Prüfung.',
  start: 'Beginnen',
  agree: 'Ich stimme zu, beginnen',
  agreeAlternative: 'Ich stimme zu und benutze keinen Zeiger',
  alternative: 'Ich benutze keinen Zeiger',
  notNow: 'Nicht jetzt',
  leave: 'Prüfung verlassen',

  opening: 'Einen Moment …',
  question: 'Frage {n} von {of}',
  more: 'Noch ein paar: Frage {n} von {of}',
  wait: 'Gleich …',
  point: 'Drücken Sie auf den Ring mit der Lücke.',
  picture: 'Ein Bild mit Ringen. Einer hat eine Lücke.',
  took: 'Danke.',
  missed: 'Zu spät, macht nichts …',
  keys: 'Drücken Sie eine Zahl, oder Tab und Enter.',
  ending: 'Danke. Gleich fertig …',

  stuck: 'Das dauert zu lange.',
  stuckLost: 'Die Verbindung ist weg. Wir versuchen es weiter. Ist sie wieder da, geht es hier weiter.',
  stuckSlow: 'Seit 10 Sekunden kam keine Frage.',
  stuckAway: 'Eine Weile kam keine Antwort. Beginnen Sie neu, wenn es passt.',
  without: 'Ohne Prüfung weiter',
  close: 'Schließen',
  closeNext: 'Diese Seite verlangt die Prüfung. Sie können jederzeit zurückkommen.',

  why: {
    skipped: 'Sie gingen ohne sie weiter. Die Seite fragt vielleicht wieder.',
    left: 'Sie gingen vor dem Ende. Nichts davon wird benutzt.',
    unreachable: 'Der Dienst antwortet nicht. Prüfen Sie die Verbindung und versuchen Sie es noch einmal.',
    session_expired: 'Es dauerte zu lange. Versuchen Sie es noch einmal.',
    unsupported: 'Dieser Browser kann es nicht, oder die Seite hat kein HTTPS. Ein neuerer kann es.',
    not_found: 'Diese Seite ist nicht für die Prüfung eingerichtet. Sagen Sie es der Seite.',
    forbidden: 'Diese Seite darf die Prüfung nicht benutzen. Sagen Sie es der Seite.',
    rate_limited: 'Zu viele Prüfungen von hier. Warten Sie eine Minute und versuchen Sie es noch einmal.',
  },
  whyElse: 'Bei uns ging etwas schief. Versuchen Sie es noch einmal.',
}

/** The texts in the language nearest to the element's own, and which one that is. */
export const messagesFor = (element: Element): { lang: string; messages: Messages } =>
  /^de\b/i.test(element.closest<HTMLElement>('[lang]')?.lang ?? '')
    ? { lang: 'de', messages: de }
    : { lang: 'en', messages: en }

export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
