/** Every text of the page around the replay, in one table for each language. */
const en = {
  title: 'What was recorded',
  loading: 'Opening your recording',
  heading: '{seconds} seconds of you were recorded.',
  headingAsked: '{seconds} seconds of you were recorded, with {questions} questions.',
  lead: 'Your browser has opened the recording and checked it: it is whole, and nothing in it was changed since.',
  replay: 'What you did',
  recordedTitle: 'Recorded',
  recorded: [
    'whether the page was visible and had the focus',
    'where the pointer was in the window, and when it pressed',
    'when keys were pressed, and whether they were Tab, Enter, Space, Escape or arrows',
    'how far the page scrolled',
    'when each question was shown and how it was answered',
    'the size of the window, touch points, and whether a program steers the browser',
  ],
  notRecordedTitle: 'Not recorded',
  notRecorded: [
    'which letter, and anything you typed',
    'the text of the page, its fields, its address',
    'other tabs and other sites',
    'camera, microphone, place',
  ],
  lost: '{n} movements were dropped because the line was slow.',
  gone: 'This recording is gone.',
  goneLead:
    'Recordings are deleted when their time is over. What is left is a number and hashes that say nothing about you.',
  unknown: 'There is no such recording of yours.',
  unknownLead: 'The address is wrong, or it was deleted.',
  signIn: 'Please sign in first.',
  signInLead: 'Sign in with the passkey that you enrolled with to see your recordings.',
  toSignIn: 'To the sign-in',
  failed: 'The recording cannot be shown.',
  offline: 'The service did not answer. Check your connection and load the page again.',
  back: 'Back to what we hold about you',
}
export type RecordingMessages = typeof en

const de: RecordingMessages = {
  title: 'Was aufgezeichnet wurde',
  loading: 'Ihre Aufzeichnung wird geöffnet',
  heading: '{seconds} Sekunden von Ihnen wurden aufgezeichnet.',
  headingAsked: '{seconds} Sekunden von Ihnen wurden aufgezeichnet, mit {questions} Fragen.',
  lead: 'Ihr Browser hat die Aufzeichnung geöffnet und geprüft: Sie ist vollständig und seither unverändert.',
  replay: 'Was Sie getan haben',
  recordedTitle: 'Aufgezeichnet',
  recorded: [
    'ob die Seite sichtbar war und den Fokus hatte',
    'wo der Zeiger im Fenster war und wann er gedrückt wurde',
    'wann Tasten gedrückt wurden und ob es Tab, Enter, Leertaste, Escape oder Pfeile waren',
    'wie weit die Seite gerollt wurde',
    'wann jede Frage gezeigt und wie sie beantwortet wurde',
    'die Größe des Fensters, Berührungspunkte und ob ein Programm den Browser steuert',
  ],
  notRecordedTitle: 'Nicht aufgezeichnet',
  notRecorded: [
    'welcher Buchstabe und alles, was Sie getippt haben',
    'der Text der Seite, ihre Felder, ihre Adresse',
    'andere Tabs und andere Seiten',
    'Kamera, Mikrofon, Ort',
  ],
  lost: '{n} Bewegungen fielen weg, weil die Leitung langsam war.',
  gone: 'Diese Aufzeichnung gibt es nicht mehr.',
  goneLead:
    'Aufzeichnungen werden gelöscht, wenn ihre Zeit um ist. Es bleiben eine Zahl und Prüfsummen, die nichts über Sie sagen.',
  unknown: 'Von Ihnen gibt es keine solche Aufzeichnung.',
  unknownLead: 'Die Adresse ist falsch, oder sie wurde gelöscht.',
  signIn: 'Bitte melden Sie sich zuerst an.',
  signInLead:
    'Melden Sie sich mit dem Passkey an, mit dem Sie sich eingetragen haben, um Ihre Aufzeichnungen zu sehen.',
  toSignIn: 'Zur Anmeldung',
  failed: 'Die Aufzeichnung lässt sich nicht zeigen.',
  offline: 'Der Dienst hat nicht geantwortet. Prüfen Sie die Verbindung und laden Sie die Seite neu.',
  back: 'Zurück zu dem, was wir über Sie haben',
}
export const recordingMessages = { en, de } as const
