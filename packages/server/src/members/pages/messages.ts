import { attentionDaysMax } from '../rules.ts'

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** All texts of the pages for people, one table for each language, with `{placeholders}`. */
const en = {
  language: 'en' as Language,
  name: 'English',
  enrolTitle: 'Show once that you are a person',
  enrolLead:
    '“{agent}” asks you to enrol. It takes about a minute, needs no name and no mail address, and you can take it back at any time.',
  linkGone: 'This link does not work any more.',
  linkGoneLead: 'It is unknown or older than seven days. Ask whoever sent it for a new one.',
  stepsTitle: 'What happens',
  steps: [
    'You agree to what stands below.',
    'You make a passkey: your device asks for your finger, your face or a PIN. We get a key, never the finger, the face or the PIN.',
    'You answer three short questions with pictures, about 15 seconds.',
  ],
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
  agreeFirst: 'Please tick the box first: without your yes nothing is recorded.',
  makePasskey: 'Agree and make a passkey',
  usePasskey: 'I have a passkey here: agree and sign in',
  codesTitle: 'Keep these codes',
  codesLead:
    'Each one lets you in once if your passkey is lost. They are shown only now. Print them or put them into your password manager.',
  codesKept: 'I have kept them. Go on',
  checkTitle: 'Three short questions',
  checkLead: 'Nothing is recorded before you press the button.',
  doneTitle: 'Done. You are enrolled.',
  doneLead:
    '“{agent}” can now ask us whether you are a person. It sees what you read before you agreed, and never the recording.',
  toWork: 'Paid work for members',
  seeData: 'See, move or delete what we hold about you',
  wait: 'One moment …',
  waitDevice: 'Follow what your device asks …',
  failed: {
    unsupported: 'This browser cannot make passkeys. Use a newer one, or your phone.',
    cancelled: 'Your device did not finish. Nothing was stored. Try again.',
    offline: 'The service did not answer. Check your connection and try again.',
    session_rejected: 'The check was not good enough to count. Take a little more time and try once more.',
    session_not_ready: 'The check is still being looked at. One moment …',
    member_not_enrolled: 'You are a member here already, or somebody else has used this link.',
    passkey_refused: 'This passkey could not be checked. Try again, or use another one.',
    sign_in_required: 'Please sign in with your passkey again.',
    not_found: 'This link does not work any more. Ask for a new one.',
  },
  me: {
    title: 'What we hold about you',
    signInLead: 'Sign in with the passkey that you enrolled with. Nobody else can see this page.',
    signIn: 'Sign in with your passkey',
    lostTitle: 'Your passkey is lost?',
    code: 'Recovery code',
    recover: 'Sign in with this code',
    lead: 'You are a member of {count} applications. The file holds all of it, the recordings too.',
    leadOne: 'You are a member of one application. The file holds all of it, the recordings too.',
    leadNone: 'You are a member of no application.',
    download: 'Download everything as one file',
    signOut: 'Sign out',
    applications: 'Applications',
    knownAs: 'knows you as',
    reference: 'its own reference',
    status: {
      invited: 'invited',
      consented: 'agreed, questions missing',
      enrolled: 'enrolled',
      withdrawn: 'withdrawn',
    },
    testMode: 'test',
    checked: 'Last check',
    quality: 'Quality',
    consents: 'Your consent',
    consentGiven: 'given',
    consentWithdrawn: 'withdrawn',
    acts: 'What was recorded',
    noActs: 'Nothing.',
    olderActs: 'Older ones are in the file.',
    when: 'When',
    what: 'What',
    outcome: 'Outcome',
    human: 'a person',
    notHuman: 'not counted',
    open: 'not finished',
    replay: 'Look at it',
    replayOf: 'recording of {when}',
    kinds: { view: 'questions', work: 'work', task: 'task', presence: 'presence at a place' },
    withdraw: 'Withdraw from this application',
    passkeys: 'Your passkeys',
    passkeyCreated: 'Made',
    passkeyUsed: 'Last used',
    copies: 'Copies',
    synced: 'may be on several of your devices',
    bound: 'on one device only',
    codes: 'Recovery codes',
    codesLeft: '{count} are left. Each lets you in once if your passkey is lost.',
    renewCodes: 'Make new recovery codes',
    renewed: 'The old codes do not work any more.',
    addPasskey: 'Add another passkey',
    eraseTitle: 'Delete everything',
    erasedAtOnce:
      'At once: passkeys, logins, codes, recordings and their keys, shapes of your motion, places, devices, and every id that an application has for you. What was being written at that moment goes ten minutes later.',
    retained:
      'What stays: credentials that applications were given. They carry a code that leads to nobody any more, and they keep verifying until they expire; a wallet that you had bound stays named in them, and on a chain until the record there expires. Answers to paid work stay with their buyers, and Stars that were not paid out are lost. Figures and hashes of recordings stay without a name, and so does that somebody agreed. Recordings that you broke off were never tied to you and go in their own time. Notices to the applications are kept 30 days in transit and three months in the log; backups go when their own time is over.',
    agentsNotified: 'The applications are told to delete what they hold.',
    sure: 'Yes, delete everything. It cannot be undone.',
    sureFirst: 'Please tick the box first.',
    erase: 'Delete everything about me',
    erased: 'Deleted. Only what this page named is left.',
  },
  needsScript: 'This page needs JavaScript: without it your browser cannot make a passkey.',
}
export type Messages = typeof en

const de: Messages = {
  language: 'de',
  name: 'Deutsch',
  enrolTitle: 'Zeigen Sie einmal, dass Sie ein Mensch sind',
  enrolLead:
    '„{agent}“ bittet Sie, sich einzutragen. Es dauert etwa eine Minute, braucht weder Namen noch Mailadresse, und Sie können es jederzeit zurücknehmen.',
  linkGone: 'Dieser Link gilt nicht mehr.',
  linkGoneLead: 'Er ist unbekannt oder älter als sieben Tage. Bitten Sie um einen neuen.',
  stepsTitle: 'Was geschieht',
  steps: [
    'Sie stimmen dem zu, was unten steht.',
    'Sie legen einen Passkey an: Ihr Gerät fragt nach Finger, Gesicht oder PIN. Wir bekommen einen Schlüssel, nie Finger, Gesicht oder PIN.',
    'Sie beantworten drei kurze Fragen mit Bildern, etwa 15 Sekunden.',
  ],
  recordedTitle: 'Was aufgezeichnet wird und wer es sieht',
  recorded: [
    'Wir behalten die öffentliche Hälfte Ihres Passkeys, wie er entstand und wann Sie ihn benutzt haben.',
    'Während der Fragen zeichnen wir auf, wie Sie zeigen, scrollen und antworten und wann Sie Tasten drücken. Von einer Taste zeichnen wir nur auf, ob es Tab, Eingabe, Leertaste, Escape oder ein Pfeil war. Wir merken uns auch die Größe des Fensters, ob es einen Touchscreen gibt und das Betriebssystem, das Ihr Browser nennt.',
    'Die Aufzeichnung ist verschlüsselt und wird nach {days} Tagen gelöscht. Ebenso die Formen der Striche Ihres Zeigers, an denen wir kopierte Bewegung erkennen. Güte, Zeiten, Zählungen und Prüfsummen bleiben, bis Sie alles löschen; die Aufzeichnung lässt sich daraus nicht herstellen.',
    '„{agent}“ sieht eine Kennung, die nur für diese Anwendung gemacht ist, ob Sie zugestimmt oder zurückgenommen haben, wie Ihr Passkey entstand, wann Sie die Fragen zuletzt beantwortet haben und wie aufmerksam Sie waren. Die Anwendung kann fragen, ob Sie etwas schon getan haben, das sie einmal zählt, etwa eine Abstimmung. Die Aufzeichnung sieht sie nie.',
    'Eine andere Anwendung sieht eine andere Kennung. Aus dem, was wir ihnen zeigen, können zwei Anwendungen nicht herausfinden, dass Sie derselbe Mensch sind, es sei denn, Sie zeigen beiden dasselbe Wallet.',
    `Nach ${attentionDaysMax} Tagen sind die Fragen wieder fällig. „{agent}“ schickt Ihnen dann einen neuen Link.`,
  ],
  limitsTitle: 'Was das nicht beweist',
  limits:
    'Es zeigt, dass jemand aufmerksam war und dieses Gerät hatte. Es zeigt nicht, wer Sie sind, und wer zwei Geräte hat, kann sich zweimal eintragen.',
  agree: 'Ich habe das gelesen und stimme zu.',
  agreeFirst: 'Bitte setzen Sie zuerst das Häkchen: Ohne Ihr Ja wird nichts aufgezeichnet.',
  makePasskey: 'Zustimmen und Passkey anlegen',
  usePasskey: 'Ich habe hier einen Passkey: zustimmen und anmelden',
  codesTitle: 'Bewahren Sie diese Codes auf',
  codesLead:
    'Jeder lässt Sie einmal hinein, wenn Ihr Passkey verloren ist. Sie werden nur jetzt gezeigt. Drucken Sie sie aus oder legen Sie sie in Ihre Passwortverwaltung.',
  codesKept: 'Ich habe sie aufbewahrt. Weiter',
  checkTitle: 'Drei kurze Fragen',
  checkLead: 'Nichts wird aufgezeichnet, bevor Sie den Knopf drücken.',
  doneTitle: 'Fertig. Sie sind eingetragen.',
  doneLead:
    '„{agent}“ kann uns jetzt fragen, ob Sie ein Mensch sind. Die Anwendung sieht, was Sie vor der Zustimmung gelesen haben, und nie die Aufzeichnung.',
  toWork: 'Bezahlte Arbeit für Mitglieder',
  seeData: 'Ansehen, mitnehmen oder löschen, was wir über Sie haben',
  wait: 'Einen Moment …',
  waitDevice: 'Folgen Sie dem, was Ihr Gerät fragt …',
  failed: {
    unsupported: 'Dieser Browser kann keine Passkeys anlegen. Nehmen Sie einen neueren oder Ihr Telefon.',
    cancelled:
      'Ihr Gerät hat es nicht abgeschlossen. Nichts wurde gespeichert. Versuchen Sie es noch einmal.',
    offline: 'Der Dienst hat nicht geantwortet. Prüfen Sie die Verbindung und versuchen Sie es noch einmal.',
    session_rejected:
      'Die Prüfung hat nicht gereicht. Nehmen Sie sich etwas mehr Zeit und versuchen Sie es noch einmal.',
    session_not_ready: 'Die Prüfung wird noch ausgewertet. Einen Moment …',
    member_not_enrolled: 'Sie sind hier schon eingetragen, oder jemand anders hat diesen Link benutzt.',
    passkey_refused:
      'Dieser Passkey ließ sich nicht prüfen. Versuchen Sie es noch einmal oder mit einem anderen.',
    sign_in_required: 'Bitte melden Sie sich noch einmal mit Ihrem Passkey an.',
    not_found: 'Dieser Link gilt nicht mehr. Bitten Sie um einen neuen.',
  },
  me: {
    title: 'Was wir über Sie haben',
    signInLead:
      'Melden Sie sich mit dem Passkey an, mit dem Sie sich eingetragen haben. Niemand sonst sieht diese Seite.',
    signIn: 'Mit Ihrem Passkey anmelden',
    lostTitle: 'Passkey verloren?',
    code: 'Wiederherstellungscode',
    recover: 'Mit diesem Code anmelden',
    lead: 'Sie sind bei {count} Anwendungen eingetragen. Die Datei enthält alles, auch die Aufzeichnungen.',
    leadOne: 'Sie sind bei einer Anwendung eingetragen. Die Datei enthält alles, auch die Aufzeichnungen.',
    leadNone: 'Sie sind bei keiner Anwendung eingetragen.',
    download: 'Alles als eine Datei herunterladen',
    signOut: 'Abmelden',
    applications: 'Anwendungen',
    knownAs: 'kennt Sie als',
    reference: 'eigene Bezeichnung',
    status: {
      invited: 'eingeladen',
      consented: 'zugestimmt, Fragen fehlen',
      enrolled: 'eingetragen',
      withdrawn: 'zurückgenommen',
    },
    testMode: 'Test',
    checked: 'Letzte Prüfung',
    quality: 'Güte',
    consents: 'Ihre Zustimmung',
    consentGiven: 'gegeben',
    consentWithdrawn: 'zurückgenommen',
    acts: 'Was aufgezeichnet wurde',
    noActs: 'Nichts.',
    olderActs: 'Ältere stehen in der Datei.',
    when: 'Wann',
    what: 'Was',
    outcome: 'Ergebnis',
    human: 'ein Mensch',
    notHuman: 'nicht gezählt',
    open: 'nicht beendet',
    replay: 'Ansehen',
    replayOf: 'Aufzeichnung vom {when}',
    kinds: { view: 'Fragen', work: 'Arbeit', task: 'Aufgabe', presence: 'Anwesenheit an einem Ort' },
    withdraw: 'Bei dieser Anwendung zurücknehmen',
    passkeys: 'Ihre Passkeys',
    passkeyCreated: 'Angelegt',
    passkeyUsed: 'Zuletzt benutzt',
    copies: 'Kopien',
    synced: 'kann auf mehreren Ihrer Geräte sein',
    bound: 'nur auf einem Gerät',
    codes: 'Wiederherstellungscodes',
    codesLeft: '{count} sind übrig. Jeder lässt Sie einmal hinein, wenn Ihr Passkey verloren ist.',
    renewCodes: 'Neue Wiederherstellungscodes anlegen',
    renewed: 'Die alten Codes gelten nicht mehr.',
    addPasskey: 'Weiteren Passkey anlegen',
    eraseTitle: 'Alles löschen',
    erasedAtOnce:
      'Sofort: Passkeys, Anmeldungen, Codes, Aufzeichnungen und ihre Schlüssel, Formen Ihrer Bewegung, Orte, Geräte und jede Kennung, die eine Anwendung für Sie hat. Was in diesem Augenblick geschrieben wurde, geht zehn Minuten später.',
    retained:
      'Was bleibt: Nachweise, die Anwendungen bekommen haben. Sie tragen einen Code, der zu niemandem mehr führt, und gelten bis zu ihrem Ablauf; ein Wallet, das Sie verbunden hatten, steht weiter darin, und auf einer Chain, bis der Eintrag dort abläuft. Antworten auf bezahlte Arbeit bleiben bei ihren Käufern, und Stars, die nicht ausgezahlt wurden, verfallen. Zahlen und Prüfsummen von Aufzeichnungen bleiben ohne Namen, ebenso, dass jemand zugestimmt hat. Aufzeichnungen, die Sie abgebrochen haben, waren nie mit Ihnen verbunden und gehen, wenn ihre eigene Zeit um ist. Mitteilungen an die Anwendungen bleiben 30 Tage im Versand und drei Monate im Protokoll; Sicherungen gehen, wenn ihre eigene Zeit um ist.',
    agentsNotified: 'Die Anwendungen werden aufgefordert zu löschen, was sie haben.',
    sure: 'Ja, alles löschen. Es lässt sich nicht rückgängig machen.',
    sureFirst: 'Bitte setzen Sie zuerst das Häkchen.',
    erase: 'Alles über mich löschen',
    erased: 'Gelöscht. Nur was diese Seite genannt hat, ist noch da.',
  },
  needsScript: 'Diese Seite braucht JavaScript: Ohne das kann Ihr Browser keinen Passkey anlegen.',
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
