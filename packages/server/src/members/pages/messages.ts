import { attentionDaysMax } from '../rules.ts'

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** All texts of the pages for people, one table for each language, with `{placeholders}`. */
const en = {
  language: 'en' as Language,
  name: 'English',
  enrolTitle: 'Show once that you are a person',
  enrolLead:
    '“{agent}” asks you to enrol. It takes about a minute. Nobody asks for your name or email address, and you can withdraw at any time.',
  linkGone: 'This link no longer works.',
  linkGoneLead: 'It is unknown or older than seven days. Ask whoever sent it to you for a new one.',
  stepsTitle: 'Three steps',
  steps: [
    'You agree to the text below and create a passkey. Your device asks for your fingerprint, your face or a PIN. We get a key, never the fingerprint, the face or the PIN.',
    'You keep your recovery codes. If you already have a passkey here, this step is left out.',
    'You answer a few short questions with pictures.',
  ],
  stepOf: 'Step {n} of 3',
  stepNext: {
    consent: 'Next: your recovery codes.',
    codes: 'Next: a few short questions.',
    check: 'This is the last step.',
  },
  recordedTitle: 'What is recorded, and who sees it',
  recorded: [
    'We keep the public half of your passkey, how it was made, and when you used it.',
    'During the questions we record how you move, scroll and answer, and when you press keys. Of a key we record only whether it was Tab, Enter, Space, Escape or an arrow. We also note the size of the window, whether it has a touch screen, and the operating system that your browser names.',
    'The recording is encrypted and deleted after {days} days. So are the shapes of the strokes of your pointer, by which we notice copied motion. Quality, times, counts and hashes stay until you delete everything; the recording cannot be made from them.',
    '“{agent}” sees an id that is made for it alone, whether you agreed or withdrew, how your passkey was made, when you last answered the questions, and how attentive you were. It can ask whether you did something once before that it counts once, such as a vote. It never sees the recording.',
    'Another application sees another id. From what we show them, two applications cannot find out that you are the same person, unless you show both the same wallet.',
    `After ${attentionDaysMax} days the questions are due again. “{agent}” then sends you a new link.`,
  ],
  limitsTitle: 'What this does not prove',
  limits:
    'It shows that somebody was attentive and held this device. It does not show who you are, and somebody with two devices can enrol twice.',
  agree: 'I have read this, and I agree.',
  agreeFirst: 'Please tick the box first. Nothing is recorded without your consent.',
  makePasskey: 'Agree and create a passkey',
  usePasskey: 'Agree and sign in with my passkey',
  codesTitle: 'Keep these recovery codes',
  codesLead:
    'Each one lets you in once if you lose your passkey. They are shown only now. Print them, or save them in your password manager.',
  codesStored: 'We store only a hash of each code, from which nobody can read the code.',
  codesKept: 'I have saved them. Continue',
  checkTitle: 'A few short questions',
  checkLead: 'Nothing is recorded before you press the button.',
  checkWhy:
    'Why: your answers and your movements show that an attentive person is here. Stored: the encrypted recording for {days} days, and its score until you delete everything.',
  doneTitle: 'Done. You are enrolled.',
  doneLead:
    '“{agent}” can now ask us whether you are a person. It sees what you read before you agreed, and never the recording.',
  toWork: 'Paid work for members',
  seeData: 'See, download or delete what we hold about you',
  wait: 'One moment …',
  waitDevice: 'Follow the prompt on your device …',
  failed: {
    unsupported: 'This browser does not support passkeys. Use a newer one, or your phone.',
    cancelled: 'Your device did not complete this. Nothing was stored. Try again.',
    offline: 'The service did not answer. Check your connection and try again.',
    session_rejected: 'The check did not pass. Take a little more time, and try again.',
    session_not_ready: 'The check is still being scored. One moment …',
    member_not_enrolled: 'You are already a member here, or somebody else has used this link.',
    passkey_refused: 'This passkey could not be checked. Try again, or use another one.',
    sign_in_required: 'Please sign in with your passkey again.',
    not_found: 'This link no longer works. Ask for a new one.',
  },
  me: {
    title: 'What we hold about you',
    signInLead: 'Sign in with the passkey that you enrolled with. Nobody else can see this page.',
    signIn: 'Sign in with your passkey',
    lostTitle: 'Lost your passkey?',
    code: 'Recovery code',
    recover: 'Sign in with this code',
    lead: 'You are a member of {count} applications. The file contains everything, including the recordings.',
    leadOne: 'You are a member of one application. The file contains everything, including the recordings.',
    leadNone: 'You are not a member of any application.',
    download: 'Download everything as one file',
    signOut: 'Sign out',
    applications: 'Applications',
    unnamed: 'An application without a name',
    knownAs: 'Your id there',
    reference: 'Reference of the application',
    copy: 'Copy',
    copied: 'copied',
    status: {
      invited: 'invited',
      consented: 'agreed, questions not answered yet',
      enrolled: 'enrolled',
      withdrawn: 'withdrawn',
    },
    testMode: 'test',
    checked: 'Last check',
    quality: 'Quality',
    consents: 'Your consent',
    consentGiven: 'given',
    consentText: 'text of {version}',
    consentWithdrawn: 'withdrawn',
    acts: 'What was recorded',
    noActs: 'Nothing has been recorded.',
    olderActs: 'Older recordings are in the file.',
    when: 'When',
    what: 'What',
    outcome: 'Outcome',
    human: 'a person',
    notHuman: 'not counted',
    open: 'not finished',
    replay: 'Replay',
    replayOf: 'recording of {when}',
    kinds: { view: 'questions', work: 'work', task: 'task', presence: 'presence at a place' },
    withdraw: 'Withdraw from this application',
    passkeys: 'Your passkeys',
    passkeyCreated: 'Created',
    passkeyUsed: 'Last used',
    copies: 'Where it is',
    synced: 'may be on several of your devices',
    bound: 'only on one device',
    codes: 'Recovery codes',
    codesLeft: 'Codes left: {count}. Each lets you in once if you lose your passkey.',
    renewCodes: 'Create new recovery codes',
    renewed: 'The old codes no longer work.',
    addPasskey: 'Add another passkey',
    eraseTitle: 'Delete everything',
    erasedAtOnce:
      'Deleted at once: passkeys, sign-ins, codes, recordings and their keys, shapes of your motion, places, devices, and every id that an application has for you. Data that is being written at that moment is deleted ten minutes later.',
    retained:
      'What stays: credentials that applications were given. They carry a code that no longer leads to anybody, and they remain valid until they expire. A wallet that you had bound stays named in them, and on a chain until the record there expires. Answers to paid work stay with their buyers, and Stars that were not paid out are lost. Figures and hashes of recordings stay without a name, and so does the fact that somebody agreed. Recordings that you broke off were never tied to you and are deleted when their own time is over. Notices to the applications are kept for 30 days in transit and for three months in the log. Backups are deleted when their own time is over.',
    agentsNotified: 'We ask the applications to delete what they hold.',
    sure: 'Yes, delete everything. It cannot be undone.',
    sureFirst: 'Please tick the box first.',
    erase: 'Delete everything about me',
    erased: 'Deleted. Only what this page listed is left.',
  },
  needsScript: 'This page needs JavaScript: without it, your browser cannot create a passkey.',
}
export type Messages = typeof en

const de: Messages = {
  language: 'de',
  name: 'Deutsch',
  enrolTitle: 'Zeigen Sie einmal, dass Sie ein Mensch sind',
  enrolLead:
    '„{agent}“ bittet Sie, sich zu registrieren. Das dauert etwa eine Minute. Niemand fragt nach Ihrem Namen oder Ihrer E-Mail-Adresse, und Sie können jederzeit widerrufen.',
  linkGone: 'Dieser Link gilt nicht mehr.',
  linkGoneLead: 'Er ist unbekannt oder älter als sieben Tage. Bitten Sie den Absender um einen neuen.',
  stepsTitle: 'Drei Schritte',
  steps: [
    'Sie stimmen dem Text unten zu und legen einen Passkey an. Ihr Gerät fragt nach Fingerabdruck, Gesicht oder PIN. Wir bekommen einen Schlüssel, nie Fingerabdruck, Gesicht oder PIN.',
    'Sie bewahren Ihre Wiederherstellungscodes auf. Wenn Sie hier schon einen Passkey haben, entfällt dieser Schritt.',
    'Sie beantworten einige kurze Fragen mit Bildern.',
  ],
  stepOf: 'Schritt {n} von 3',
  stepNext: {
    consent: 'Als Nächstes: Ihre Wiederherstellungscodes.',
    codes: 'Als Nächstes: einige kurze Fragen.',
    check: 'Das ist der letzte Schritt.',
  },
  recordedTitle: 'Was aufgezeichnet wird und wer es sieht',
  recorded: [
    'Wir behalten die öffentliche Hälfte Ihres Passkeys, wie er entstand und wann Sie ihn benutzt haben.',
    'Während der Fragen zeichnen wir auf, wie Sie den Zeiger bewegen, scrollen und antworten und wann Sie Tasten drücken. Von einer Taste zeichnen wir nur auf, ob es Tab, Eingabe, Leertaste, Escape oder ein Pfeil war. Wir merken uns auch die Größe des Fensters, ob es einen Touchscreen gibt und das Betriebssystem, das Ihr Browser nennt.',
    'Die Aufzeichnung ist verschlüsselt und wird nach {days} Tagen gelöscht. Ebenso die Formen der Striche Ihres Zeigers, an denen wir kopierte Bewegung erkennen. Qualität, Zeiten, Anzahlen und Prüfsummen bleiben, bis Sie alles löschen; die Aufzeichnung lässt sich daraus nicht herstellen.',
    '„{agent}“ sieht eine Kennung, die nur für diese Anwendung gemacht ist, ob Sie zugestimmt oder widerrufen haben, wie Ihr Passkey entstand, wann Sie die Fragen zuletzt beantwortet haben und wie aufmerksam Sie waren. Die Anwendung kann fragen, ob Sie etwas schon getan haben, das sie einmal zählt, etwa eine Abstimmung. Die Aufzeichnung sieht sie nie.',
    'Eine andere Anwendung sieht eine andere Kennung. Aus dem, was wir ihnen zeigen, können zwei Anwendungen nicht herausfinden, dass Sie derselbe Mensch sind, es sei denn, Sie zeigen beiden dasselbe Wallet.',
    `Nach ${attentionDaysMax} Tagen sind die Fragen wieder fällig. „{agent}“ schickt Ihnen dann einen neuen Link.`,
  ],
  limitsTitle: 'Was das nicht beweist',
  limits:
    'Es zeigt, dass jemand aufmerksam war und dieses Gerät hatte. Es zeigt nicht, wer Sie sind, und wer zwei Geräte hat, kann sich zweimal registrieren.',
  agree: 'Ich habe das gelesen und stimme zu.',
  agreeFirst: 'Bitte setzen Sie zuerst das Häkchen. Ohne Ihre Zustimmung wird nichts aufgezeichnet.',
  makePasskey: 'Zustimmen und Passkey anlegen',
  usePasskey: 'Zustimmen und mit meinem Passkey anmelden',
  codesTitle: 'Bewahren Sie diese Wiederherstellungscodes auf',
  codesLead:
    'Mit jedem können Sie sich einmal anmelden, wenn Sie Ihren Passkey verlieren. Sie werden nur jetzt angezeigt. Drucken Sie sie aus, oder speichern Sie sie in Ihrem Passwortmanager.',
  codesStored: 'Wir speichern von jedem Code nur eine Prüfsumme, aus der ihn niemand lesen kann.',
  codesKept: 'Ich habe sie gesichert. Weiter',
  checkTitle: 'Einige kurze Fragen',
  checkLead: 'Bevor Sie den Knopf drücken, wird nichts aufgezeichnet.',
  checkWhy:
    'Warum: Ihre Antworten und Bewegungen zeigen, dass ein aufmerksamer Mensch da ist. Gespeichert werden die verschlüsselte Aufzeichnung für {days} Tage und ihre Bewertung, bis Sie alles löschen.',
  doneTitle: 'Fertig. Sie sind registriert.',
  doneLead:
    '„{agent}“ kann uns jetzt fragen, ob Sie ein Mensch sind. Die Anwendung sieht, was Sie vor der Zustimmung gelesen haben, und nie die Aufzeichnung.',
  toWork: 'Bezahlte Aufgaben für Mitglieder',
  seeData: 'Ihre Daten ansehen, herunterladen oder löschen',
  wait: 'Einen Moment …',
  waitDevice: 'Folgen Sie den Anweisungen Ihres Geräts …',
  failed: {
    unsupported: 'Dieser Browser unterstützt keine Passkeys. Verwenden Sie einen neueren oder Ihr Handy.',
    cancelled:
      'Ihr Gerät hat den Vorgang nicht abgeschlossen. Es wurde nichts gespeichert. Versuchen Sie es noch einmal.',
    offline: 'Der Dienst hat nicht geantwortet. Prüfen Sie die Verbindung und versuchen Sie es noch einmal.',
    session_rejected:
      'Die Prüfung war nicht erfolgreich. Nehmen Sie sich etwas mehr Zeit, und versuchen Sie es noch einmal.',
    session_not_ready: 'Die Prüfung wird noch ausgewertet. Einen Moment …',
    member_not_enrolled: 'Sie sind hier schon registriert, oder jemand anderes hat diesen Link benutzt.',
    passkey_refused:
      'Dieser Passkey konnte nicht geprüft werden. Versuchen Sie es noch einmal, oder verwenden Sie einen anderen.',
    sign_in_required: 'Bitte melden Sie sich erneut mit Ihrem Passkey an.',
    not_found: 'Dieser Link gilt nicht mehr. Bitten Sie um einen neuen.',
  },
  me: {
    title: 'Was wir über Sie gespeichert haben',
    signInLead:
      'Melden Sie sich mit dem Passkey an, mit dem Sie sich registriert haben. Niemand sonst kann diese Seite sehen.',
    signIn: 'Mit Ihrem Passkey anmelden',
    lostTitle: 'Passkey verloren?',
    code: 'Wiederherstellungscode',
    recover: 'Mit diesem Code anmelden',
    lead: 'Sie sind bei {count} Anwendungen registriert. Die Datei enthält alles, auch die Aufzeichnungen.',
    leadOne: 'Sie sind bei einer Anwendung registriert. Die Datei enthält alles, auch die Aufzeichnungen.',
    leadNone: 'Sie sind bei keiner Anwendung registriert.',
    download: 'Alles in einer Datei herunterladen',
    signOut: 'Abmelden',
    applications: 'Anwendungen',
    unnamed: 'Eine Anwendung ohne Namen',
    knownAs: 'Ihre Kennung dort',
    reference: 'Bezeichnung der Anwendung',
    copy: 'Kopieren',
    copied: 'kopiert',
    status: {
      invited: 'eingeladen',
      consented: 'zugestimmt, Fragen noch offen',
      enrolled: 'registriert',
      withdrawn: 'widerrufen',
    },
    testMode: 'Test',
    checked: 'Letzte Prüfung',
    quality: 'Qualität',
    consents: 'Ihre Zustimmung',
    consentGiven: 'erteilt',
    consentText: 'Text vom {version}',
    consentWithdrawn: 'widerrufen',
    acts: 'Was aufgezeichnet wurde',
    noActs: 'Es wurde nichts aufgezeichnet.',
    olderActs: 'Ältere Aufzeichnungen stehen in der Datei.',
    when: 'Wann',
    what: 'Was',
    outcome: 'Ergebnis',
    human: 'ein Mensch',
    notHuman: 'nicht gezählt',
    open: 'nicht abgeschlossen',
    replay: 'Abspielen',
    replayOf: 'Aufzeichnung vom {when}',
    kinds: { view: 'Fragen', work: 'Arbeit', task: 'Aufgabe', presence: 'Anwesenheit an einem Ort' },
    withdraw: 'Teilnahme bei dieser Anwendung widerrufen',
    passkeys: 'Ihre Passkeys',
    passkeyCreated: 'Angelegt',
    passkeyUsed: 'Zuletzt benutzt',
    copies: 'Wo er liegt',
    synced: 'möglicherweise auf mehreren Ihrer Geräte',
    bound: 'nur auf einem Gerät',
    codes: 'Wiederherstellungscodes',
    codesLeft:
      'Übrige Codes: {count}. Mit jedem können Sie sich einmal anmelden, wenn Sie Ihren Passkey verlieren.',
    renewCodes: 'Neue Wiederherstellungscodes erzeugen',
    renewed: 'Die alten Codes gelten nicht mehr.',
    addPasskey: 'Weiteren Passkey anlegen',
    eraseTitle: 'Alles löschen',
    erasedAtOnce:
      'Sofort gelöscht werden: Passkeys, Anmeldungen, Codes, Aufzeichnungen und ihre Schlüssel, Formen Ihrer Bewegungen, Orte, Geräte und jede Kennung, die eine Anwendung für Sie hat. Was in diesem Augenblick gerade gespeichert wird, wird zehn Minuten später gelöscht.',
    retained:
      'Was bleibt: Nachweise, die Anwendungen bekommen haben. Sie tragen einen Code, der zu niemandem mehr führt, und gelten, bis sie ablaufen. Ein Wallet, das Sie verbunden hatten, steht weiter darin, und auf einer Chain, bis der Eintrag dort abläuft. Antworten auf bezahlte Aufgaben bleiben bei den Auftraggebern, und Stars, die nicht ausgezahlt wurden, verfallen. Zahlen und Prüfsummen von Aufzeichnungen bleiben ohne Namen, ebenso die Tatsache, dass jemand zugestimmt hat. Aufzeichnungen, die Sie abgebrochen haben, waren nie mit Ihnen verbunden und werden gelöscht, wenn ihre eigene Frist endet. Mitteilungen an die Anwendungen bleiben 30 Tage im Versand und drei Monate im Protokoll. Sicherungskopien werden gelöscht, wenn ihre eigene Frist endet.',
    agentsNotified: 'Wir bitten die Anwendungen, zu löschen, was sie gespeichert haben.',
    sure: 'Ja, alles löschen. Das lässt sich nicht rückgängig machen.',
    sureFirst: 'Bitte setzen Sie zuerst das Häkchen.',
    erase: 'Alles über mich löschen',
    erased: 'Gelöscht. Nur was auf dieser Seite aufgeführt war, ist noch da.',
  },
  needsScript: 'Diese Seite braucht JavaScript: Ohne JavaScript kann Ihr Browser keinen Passkey anlegen.',
}

const messagesByLanguage: Readonly<Record<Language, Messages>> = { en, de }
export const messagesOf = (language: Language): Messages => messagesByLanguage[language]

/** The chosen language, else the browser's most preferred one that is supported. */
export const languageOf = (chosen: string | undefined, accepted: string | undefined): Language => {
  const acceptedTags = (accepted ?? '')
    .slice(0, 512)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const weight = parameters
        .map((one) => /^\s*q=([\d.]+)$/.exec(one)?.[1])
        .find((one) => one !== undefined)
      return { tag: tag.slice(0, 2), weight: weight === undefined ? 1 : Number(weight) }
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag)
  return [chosen ?? '', ...acceptedTags].flatMap((tag) => languages.filter((one) => one === tag))[0] ?? 'en'
}

export const fillPlaceholders = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')
