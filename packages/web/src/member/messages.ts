/** Every text of the page around the replay, in one table for each language. */
const en = {
  title: 'What was recorded',
  loading: 'Opening your recording …',
  heading: 'A recording of {seconds} seconds.',
  headingAsked: 'A recording of {seconds} seconds, with {questions} questions.',
  lead: 'Your browser opened the recording and checked it: it is complete and has not been changed since.',
  replay: 'What you did',
  recordedTitle: 'Recorded',
  recorded: [
    'whether the page was visible and had the focus',
    'where the pointer was in the window, and when it pressed',
    'when keys were pressed, and whether they were Tab, Enter, Space, Escape or arrows',
    'how far the page scrolled',
    'when each question was shown and how it was answered',
    'the size of the window, touch points, and whether a program controls the browser',
  ],
  notRecordedTitle: 'Not recorded',
  notRecorded: [
    'which letters you pressed, and anything you typed',
    'the text of the page, its fields and its address',
    'other tabs and other sites',
    'your camera, your microphone and your location',
  ],
  lost: '{n} movements are missing because the connection was slow.',
  gone: 'This recording has been deleted.',
  goneLead:
    'Recordings are deleted after a set time. What is left is a score and hashes that say nothing about you.',
  unknown: 'You have no such recording.',
  unknownLead: 'The address is wrong, or the recording was deleted.',
  signIn: 'Please sign in first.',
  signInLead: 'To see your recordings, sign in with the passkey that you enrolled with.',
  toSignIn: 'Go to the sign-in',
  failed: 'The recording cannot be shown.',
  offline: 'The service did not answer. Check your connection and load the page again.',
  back: 'Back to your data',
}
export type RecordingMessages = typeof en

const de: RecordingMessages = {
  title: 'Was aufgezeichnet wurde',
  loading: 'Ihre Aufzeichnung wird geöffnet …',
  heading: 'Eine Aufzeichnung von {seconds} Sekunden.',
  headingAsked: 'Eine Aufzeichnung von {seconds} Sekunden mit {questions} Fragen.',
  lead: 'Ihr Browser hat die Aufzeichnung geöffnet und geprüft: Sie ist vollständig und seither unverändert.',
  replay: 'Was Sie getan haben',
  recordedTitle: 'Aufgezeichnet',
  recorded: [
    'ob die Seite sichtbar war und den Fokus hatte',
    'wo der Zeiger im Fenster war und wann er gedrückt wurde',
    'wann Tasten gedrückt wurden und ob es Tab, Enter, Leertaste, Escape oder Pfeile waren',
    'wie weit die Seite gescrollt wurde',
    'wann jede Frage angezeigt und wie sie beantwortet wurde',
    'die Größe des Fensters, Berührungspunkte und ob ein Programm den Browser steuert',
  ],
  notRecordedTitle: 'Nicht aufgezeichnet',
  notRecorded: [
    'welche Buchstaben Sie gedrückt und was Sie getippt haben',
    'der Text der Seite, ihre Felder und ihre Adresse',
    'andere Tabs und andere Websites',
    'Ihre Kamera, Ihr Mikrofon und Ihr Standort',
  ],
  lost: '{n} Bewegungen fehlen, weil die Verbindung langsam war.',
  gone: 'Diese Aufzeichnung wurde gelöscht.',
  goneLead:
    'Aufzeichnungen werden nach einer festen Frist gelöscht. Es bleiben eine Bewertung und Prüfsummen, die nichts über Sie aussagen.',
  unknown: 'Sie haben keine solche Aufzeichnung.',
  unknownLead: 'Die Adresse ist falsch, oder die Aufzeichnung wurde gelöscht.',
  signIn: 'Bitte melden Sie sich zuerst an.',
  signInLead:
    'Um Ihre Aufzeichnungen zu sehen, melden Sie sich mit dem Passkey an, mit dem Sie sich registriert haben.',
  toSignIn: 'Zur Anmeldung',
  failed: 'Die Aufzeichnung kann nicht angezeigt werden.',
  offline: 'Der Dienst hat nicht geantwortet. Prüfen Sie die Verbindung und laden Sie die Seite neu.',
  back: 'Zurück zu Ihren Daten',
}
export const recordingMessages = { en, de } as const
