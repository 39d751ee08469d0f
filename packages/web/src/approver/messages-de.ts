import { failureTexts, reasonTexts, signInTexts, texts } from '../shared/person/texts-de.ts'
import type { Messages } from './messages.ts'

export const german: Messages = {
  ...texts,
  name: 'Freigaben',
  all: 'Alle Anfragen',
  you: 'Sie',

  signIn: {
    ...signInTexts,
    title: 'Anfragen, die auf Ihre Entscheidung warten.',
    lead: 'Ein Agent darf manches erst tun, wenn ein Mensch zugestimmt hat. Hier sehen Sie genau, was er tun will, und entscheiden.',
    steps: [
      'Sie lesen, was der Agent tun will. Wir zeigen jedes Feld; der Agent kann nichts gestalten oder verbergen.',
      'Sie beantworten eine kurze Frage. Sie zeigt, dass ein Mensch hinsieht.',
      'Sie stimmen mit Ihrem Passkey zu oder lehnen ab. Keine Antwort gilt als Nein.',
    ],
  },

  firstTime: {
    title: 'Noch kein Passkey?',
    lead: 'Öffnen Sie den Link in Ihrer Einladung. Dort erstellen Sie Ihren Passkey, und der letzte Schritt führt hierher zurück. Wenn Sie keine solche E-Mail haben oder der Link nicht mehr gilt, bitten Sie die Person, für die Sie freigeben sollen, um eine neue Einladung.',
  },
  otherPasskey: 'Mit einem anderen Passkey anmelden',
  notYours: {
    title: 'Woran das liegen kann, und was Sie tun können',
    reasons: [
      'Die Anfrage ist für einen anderen Passkey als den, mit dem Sie angemeldet sind. Melden Sie sich mit jenem an.',
      'Sie geben für diesen Agenten nicht mehr frei. Fragen Sie die Person, die Sie eingeladen hat.',
      'Die Adresse ist unvollständig, oder die Anfrage wurde gelöscht. Öffnen Sie den Link in der E-Mail noch einmal, oder sehen Sie alle Anfragen an.',
    ],
  },

  list: {
    waiting: '{n} Anfragen warten auf Sie.',
    waitingOne: 'Eine Anfrage wartet auf Sie.',
    none: 'Nichts wartet auf Sie.',
    noneLead:
      'Wenn ein Agent Ihre Entscheidung braucht, bekommen Sie eine E-Mail, und die Anfrage erscheint hier.',
    noneExpected:
      'Haben Sie eine erwartet? Dann hat jemand anderes entschieden, die Zeit ist um, oder sie ist für einen anderen Passkey.',
    open: 'Öffnen',
    more: 'Weitere Anfragen warten. Sie erscheinen hier, sobald Sie über diese entschieden haben.',
    from: '{agent} fragt',
    due: 'zu entscheiden bis {time}',
    decidedTitle: 'Entschieden und vergangen',
    unregistered: 'Eine Aktion vom Typ {type}',
  },
  states: {
    approve: 'von Ihnen freigegeben',
    deny: 'von Ihnen abgelehnt',
    pending: 'wartet',
    approved: 'freigegeben',
    denied: 'abgelehnt',
    expired: 'abgelaufen',
    consumed: 'erledigt',
  },

  figures: {
    title: 'Ihre eigenen Zahlen',
    lead: 'Einige Anfragen sind Tests, die abgelehnt werden sollten. Wer einen Agenten verwaltet, sieht, wie jeder seiner Tests entschieden wurde, und die Zahlen aller Personen zusammen, die für ihn freigeben. Die Zahlen einzelner Personen erscheinen dort nur, wenn Namen im Bericht eingeschaltet sind.',
    decisions: 'Entscheidungen',
    decisionsOf: '{n}: {approved} freigegeben, {denied} abgelehnt',
    caught: 'Abgelehnte Tests',
    share: '{n} von {of}',
    none: 'noch keine',
    fast: 'Schneller als gelesen',
    time: 'Übliche Zeit im Blick',
    knownBad: 'Tests, die Sie entschieden haben',
  },

  asks: '{agent} bittet Sie um Freigabe',
  youAreOnly: 'Sie sind {name}, die einzige Person, die freigeben kann.',
  youAreOneOf: 'Sie sind {name}, eine von {n} Personen. {quorum} davon müssen zustimmen.',
  question: '{title}?',
  questionUnregistered: 'Eine Aktion vom Typ {type} freigeben?',
  refused:
    'Das Feld {label} enthält ein Zeichen, das mit einem anderen verwechselt werden kann. Der Dienst lehnt solche Anfragen ab, daher kann diese nicht freigegeben werden. Sagen Sie es der Person, die diesen Dienst betreibt.',
  unregistered:
    'Niemand in Ihrer Organisation hat uns diese Art von Aktion beschrieben. Wir zeigen jedes Feld unter dem Namen, den der Agent verwendet, und es gelten die strengsten Regeln.',
  decideBy: 'Entscheiden bis {time}',
  left: 'Noch {time}. Keine Antwort gilt als Nein.',
  slowDown:
    'Ihre letzten Entscheidungen waren schneller, als man lesen kann. Nehmen Sie sich für diese Zeit.',
  retryAt:
    'Sie haben in einer Stunde viele Anfragen freigegeben. Ab {time} können Sie wieder freigeben. Ablehnen können Sie jederzeit.',

  critical: 'Worauf es ankommt',
  allFields: 'Jedes Feld dieser Aktion',
  allFieldsLead:
    'Von uns aus der signierten Anfrage gezeigt. Der Agent kann hier nichts gestalten oder verbergen.',
  type: 'Typ',
  requestId: 'Referenz',
  audience: 'Ausgeführt von',
  audienceSame: 'Agent {id}',
  until: 'Verwendbar bis',
  quorum: 'Braucht',
  quorumOf: '{n} Freigaben',
  quorumOne: 'Ihre Freigabe',
  delay: 'Wartet danach',
  delayFor: '{time}. Bis dahin kann noch jede Person ablehnen.',
  passkey: 'Passkey',
  passkeyDeviceBound: 'Nur in Hardware, die ihn nicht kopiert, etwa ein Sicherheitsschlüssel',
  agentTitle: 'Titel des Agenten',
  agentWords: 'Grund des Agenten',
  noWords: 'keiner',
  new: 'Neu: Diesen Wert haben Sie noch nie freigegeben',
  kinds: {
    number: 'eine Zahl',
    boolean: 'true oder false (ja oder nein)',
    null: 'kein Wert (null)',
    list: 'eine leere Liste',
    object: 'ein leeres Objekt',
    absent: 'Nicht in dieser Anfrage',
    empty: 'Leerer Text',
  },
  notes: {
    not_permitted: 'Enthält ein Zeichen, das kein Wert haben darf. Es ist durch seinen Codepunkt ersetzt.',
    hidden_characters: 'Enthält Zeichen, die man nicht sieht oder die andere verschieben. Sie sind markiert.',
    mixed_scripts: 'Mischt Buchstaben verschiedener Schriften, die gleich aussehen.',
    look_alikes: 'Enthält Zeichen, die wie andere Buchstaben, Ziffern oder Trennzeichen aussehen.',
    other_digits: 'Enthält andere Ziffern oder Zahlen als 0 bis 9.',
    right_to_left:
      'Enthält Buchstaben, die von rechts nach links geschrieben werden. Sie stehen hier von links nach rechts, wie sie signiert werden.',
    outer_spaces: 'Beginnt oder endet mit Leerzeichen.',
  },
  longValue: 'Langer Wert von {label}',
  longRead: 'Lesen Sie diesen Wert bis zum Ende, bevor Sie freigeben.',
  longDone: 'Bis zum Ende gelesen.',
  json: 'Die Anfrage, wie sie signiert ist (JSON)',
  jsonLabel: 'Anfrage als JSON',
  hash: 'Hash der Aktion',
  hashWhy: 'Ändert sich ein Zeichen, ist diese Freigabe ungültig.',

  recorded: {
    title: 'Was aufgezeichnet wird',
    list: [
      'Dass diese Seite im Blick war, wie lange, wie weit Sie geblättert haben, wie Sie sich bewegt und wann Sie Tasten gedrückt haben, aber nie welche',
      'Ihre Antwort auf die Frage, Ihre Entscheidung und Ihre Worte',
      'Eine Signatur Ihres Passkeys über genau das, was Sie gesehen haben',
    ],
    not: 'Nicht aufgezeichnet: Ihr Fingerabdruck oder Gesicht, die Ihr Gerät nie verlassen, und alles, was Sie anderswo tun. Die Aufzeichnung begann, als Sie diese Anfrage geöffnet haben; sie endet, wenn Sie entscheiden oder die Seite verlassen. Einige Anfragen sind Tests, die abgelehnt werden sollten.',
    figures: 'Ihre eigenen Zahlen zeigen, wie Sie entschieden haben.',
    opening: 'Die Aufzeichnung beginnt …',
    lost: 'Die Verbindung ist weg. Wir versuchen es weiter; nichts davon ist verloren.',
    stopped:
      'Die Aufzeichnung wurde beendet. {why} Ablehnen können Sie trotzdem. Um freizugeben, beginnen Sie sie neu.',
    restart: 'Aufzeichnung neu beginnen',
  },
  probe: {
    title: 'Eine kurze Frage',
    why: 'Sie zeigt, dass Sie auf {label} sehen. Für die Antwort haben Sie wenige Sekunden.',
    show: 'Frage zeigen',
    seen: 'Gesehen',
    next: 'Danke. Lesen Sie den Rest und entscheiden Sie dann.',
  },

  decide: {
    approve: 'Freigeben',
    deny: 'Ablehnen',
    first:
      'Beantworten Sie zuerst die Frage neben {label}. Dann bestätigen Sie mit Ihrem Passkey: Fingerabdruck, Gesicht oder PIN.',
    refused: 'Diese Anfrage kann nicht freigegeben werden. Sie können sie ablehnen.',
    scroll: 'Lesen Sie zuerst {label} bis zum Ende.',
    seconds: 'In {n} Sekunden können Sie freigeben. Bitte lesen Sie so lange.',
    secondsOne: 'In einer Sekunde können Sie freigeben.',
    confirm: 'Sie bestätigen mit Ihrem Passkey: Fingerabdruck, Gesicht oder PIN.',
    missedAll:
      'Zu viele Fragen wurden verpasst. Beginnen Sie die Aufzeichnung neu, um freizugeben, oder lehnen Sie ab.',
    waits: 'Die Aufzeichnung beginnt. Ablehnen können Sie schon jetzt.',
    stopped: 'Um freizugeben, beginnen Sie die Aufzeichnung neu. Ablehnen können Sie jederzeit.',
    why: 'Sagen Sie dem Agenten, warum',
    optional: '(freiwillig)',
    denyNow: 'Ohne Worte ablehnen',
    denyWords: 'Mit diesen Worten ablehnen',
    steps: {
      finish: 'Die Aufzeichnung wird beendet …',
      options: 'Die Aufzeichnung wird geprüft …',
      passkey: 'Folgen Sie den Anweisungen Ihres Geräts …',
      decide: 'Ihre Entscheidung wird gesendet …',
    },
    kept: 'Ihre Aufzeichnung bleibt in diesem Tab. Drücken Sie noch einmal, um fortzufahren.',
    veto: 'Doch ablehnen',
    vetoLead: 'Es wartet bis {time}. Bis dahin können Sie noch ablehnen.',
  },
  unverified: {
    title: 'Die Aufzeichnung zeigt nicht genug Aufmerksamkeit.',
    lead: 'Es wurde nichts entschieden. Lesen Sie die Anfrage noch einmal und beantworten Sie die Frage, oder lehnen Sie ab.',
  },
  altered: {
    title: 'Diese Anfrage lässt sich nicht sicher zeigen.',
    lead: 'Was diese Seite empfangen hat, passt nicht zu seinem Hash. Niemand kann sicher sein, was eine Freigabe umfassen würde. Es wurde nichts entschieden. Sagen Sie es der Person, die diesen Dienst betreibt.',
    theirs: 'Hash des Dienstes',
    ours: 'Hier berechnet',
  },

  outcome: {
    approved: 'Freigegeben, {ago}.',
    denied: 'Abgelehnt, {ago}.',
    expired: 'Diese Anfrage ist um {time} abgelaufen.',
    expiredUnused: 'Diese Freigabe wurde nicht rechtzeitig verwendet.',
    consumed: 'Das wurde freigegeben und verwendet.',
    othersApproved: 'Andere haben das freigegeben, bevor Sie entschieden haben.',
    otherDenied: 'Jemand anderes hat das abgelehnt.',
    mayDo: '{agent} darf es einmal tun, bis {time}.',
    mayDoAfter: '{agent} darf es einmal tun, bis {time}, wenn {n} weitere Personen zustimmen.',
    mayDoAfterOne: '{agent} darf es einmal tun, bis {time}, wenn eine weitere Person zustimmt.',
    mayDoFrom: '{agent} darf es einmal tun, von {from} bis {time}.',
    deniedLead: '{agent} hat davon erfahren. Erneut fragen kann er nur mit einer neuen Anfrage.',
    expiredLead:
      'Niemand hat rechtzeitig geantwortet, und keine Antwort gilt als Nein. Es wurde nichts getan. Ist es noch wichtig, muss der Agent erneut fragen.',
    expiredUnusedLead: 'Sie ist nicht mehr verwendbar. Ist es noch wichtig, muss der Agent erneut fragen.',
    consumedLead: 'Die Freigabe wurde einmal verwendet und lässt sich nicht noch einmal verwenden.',
    otherDeniedLead: 'Ihre Entscheidung ist nicht mehr nötig. Es wurde nichts getan.',
    request: 'Die Anfrage',
    askedBy: 'Gefragt von',
    action: 'Aktion',
    people: '{n} von {of} Freigaben',
    peopleStates: { approve: 'freigegeben', deny: 'abgelehnt', none: 'wartet', over: 'keine Antwort' },
    credential: 'Ihr Nachweis',
    assurance: 'Vertrauensniveau',
    inView: 'Im Blick',
    inViewFor: '{n} Sekunden',
    credentialId: 'Nachweis',
    words: 'Ihre Worte',
    nextWaits: 'Eine weitere Anfrage wartet',
    nextWaitsMany: '{n} weitere Anfragen warten',
    nextDue: '{title}, zu entscheiden bis {time}',
  },
  assurances: { low: 'niedrig', substantial: 'substanziell', high: 'hoch' },

  duration: {
    seconds: '{n} Sekunden',
    secondsOne: 'eine Sekunde',
    minutes: '{n} Minuten',
    minutesOne: 'eine Minute',
    hours: '{n} Stunden',
    hoursOne: 'eine Stunde',
    days: '{n} Tage',
    daysOne: 'ein Tag',
    and: '{a} {b}',
    ago: 'vor {time}',
    now: 'gerade eben',
  },

  reasons: {
    ...reasonTexts,
    attention_unproven: 'Die Frage wurde nicht richtig und rechtzeitig beantwortet.',
  },
  rules: {
    too_fast: 'Die Seite war nicht so lange im Blick, wie diese Anfrage es verlangt.',
    too_many_decisions: 'Sie haben so oft freigegeben, wie Ihr Team es in einer Stunde erlaubt.',
    passkey_not_device_bound:
      'Diese Anfrage verlangt einen Passkey in Hardware, die ihn nicht kopiert, etwa einen Sicherheitsschlüssel. Wenn Sie einen haben, drücken Sie noch einmal auf Freigeben und verwenden Sie ihn. Wenn nicht, lehnen Sie ab, fügen Sie auf Ihrer Seite einen hinzu, und lassen Sie den Agenten noch einmal fragen.',
    passkey_too_new:
      'Dieser Passkey kam nach der Anfrage dazu. Geben Sie mit einem frei, den Sie vorher hatten. Wenn Sie keinen haben, lehnen Sie ab, und lassen Sie den Agenten noch einmal fragen.',
    value_not_permitted:
      'Ein Wert enthält ein Zeichen, das mit einem anderen verwechselt werden kann. Sie können die Anfrage ablehnen.',
    view_differs:
      'Was Sie gesehen haben, ist nicht, was der Dienst für diese Anfrage zeigt. Laden Sie die Seite neu.',
    recording_missing: 'Es gibt keine Aufzeichnung dieser Seite. Beginnen Sie sie neu.',
    recording_too_old: 'Die Aufzeichnung endete vor mehr als einer Stunde. Beginnen Sie sie neu.',
    recording_of_other_act: 'Die Aufzeichnung gehört zu etwas anderem. Beginnen Sie sie neu.',
    approver_not_enrolled:
      'Ihre Anmeldung ist nicht abgeschlossen, oder Sie haben sie widerrufen. Bitten Sie die Person, die Sie eingeladen hat, um eine neue Einladung.',
    challenge_unknown: 'Sie haben beim Hinweis Ihres Geräts zu lange gewartet. Drücken Sie noch einmal.',
    company_sign_in_needed:
      'Ihre Anmeldung mit Ihrer Firma ist abgelaufen. Laden Sie die Seite neu und melden Sie sich an.',
    company_withdrawn: 'Ihre Firma hat Ihr Konto geschlossen, deshalb können Sie nicht mehr entscheiden.',
    suspended: 'Der Betreiber dieses Dienstes nimmt zurzeit keine Anmeldungen dieser Firma an.',
  },

  company: {
    title: 'Zuerst mit Ihrer Firma anmelden',
    lead: 'Wer Sie eingeladen hat, möchte, dass {issuer} für Sie bürgt, bevor Sie entscheiden.',
    withdrawn:
      '{issuer} hat Ihr Konto geschlossen oder hier zurückgezogen. Wenn das nicht stimmt, lassen Sie es dort wiederherstellen und melden Sie sich neu an.',
    facts: [
      '{issuer} erfährt, dass und wann Sie sich bei diesem Dienst angemeldet haben, aber nicht, was Sie entscheiden.',
      'Wir behalten von der Nummer Ihres Kontos nur einen Hash unter einem geheimen Schlüssel, keinen Namen und keine Mailadresse.',
      'Es dauert etwa eine halbe Minute und gilt {hours} Stunden.',
    ],
    button: 'Mit {issuer} anmelden',
  },

  failed: {
    ...failureTexts,
    cancelled: 'Ihr Gerät hat das nicht abgeschlossen. Es wurde nichts entschieden.',
    challenge_mismatch:
      'Ihr Gerät sollte etwas anderes signieren, als Sie hier sehen. Es wurde nichts signiert. Laden Sie die Seite neu; geschieht es wieder, sagen Sie es der Person, die diesen Dienst betreibt.',
    passkey_refused:
      'Dieser Passkey ließ sich nicht prüfen, oder die Anfrage verlangt eine andere Art. Verwenden Sie einen anderen.',
    not_found: 'Diese Anfrage gibt es nicht, oder sie ist nicht für Sie.',
    approval_conflict: 'Inzwischen hat jemand entschieden, oder die Zeit ist um.',
    approval_refused: 'Eine Regel dieser Anfrage erlaubt es nicht. Es wurde nichts entschieden.',
    session_rejected: 'Die Aufzeichnung zeigt nicht genug Aufmerksamkeit.',
    network_busy:
      'In dieser Stunde wurden zu viele Personen aus Ihrem Netz geprüft. Nichts ist verloren: Drücken Sie später noch einmal auf Freigeben.',
    issuer_unavailable:
      'Die Anmeldung der Firma hat nicht geantwortet. Versuchen Sie es in ein paar Minuten erneut.',
    proof_refused: 'Die Anmeldung dieser Firma wird nicht angenommen.',
    root_suspended: 'Ihr Gerät wird zurzeit nicht angenommen. Verwenden Sie ein anderes.',
    insufficient_credits:
      'Das Konto des Agenten hat kein Guthaben mehr, deshalb lässt sich kein Nachweis signieren. Ablehnen können Sie.',
    account_in_debt:
      'Das Konto des Agenten ist im Minus, deshalb lässt sich kein Nachweis signieren. Ablehnen können Sie.',
    rate_limited: 'Das war viel in kurzer Zeit. Versuchen Sie es in einer Minute erneut.',
  },
}
