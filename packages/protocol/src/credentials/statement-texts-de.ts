import type { StatementTexts } from './statement-texts.ts'

export type { StatementTexts } from './statement-texts.ts'

const geraet = 'Das zeigt ein Gerät, keine Person, und zählt keine Menschen.'
const einmal = 'Das zählt für diesen Agenten einmal.'
const keine = 'Das zählt keine Menschen.'

/** What a credential shows, in German: apart from the English, so that a page loads only what it shows. */
export const german: StatementTexts = {
  kinds: {
    view: 'In einer Sitzung war diese Seite {inView}{questions}.',
    work: 'Diese Arbeit wurde in einer Sitzung abgegeben, deren Seite {inView} war{questions}.',
    presence: '{source} wurde während einer Sitzung eingereicht; den Ort hat niemand geprüft.',
    personhood: 'Das Konto dahinter hat am {date} eine Aufmerksamkeitsprüfung bestanden.',
    binding: '{payment} wurde mit {act} verknüpft.',
    purchase:
      'Diese Arbeit wurde gekauft, auf einer Chain bezahlt und in einer bestandenen Sitzung abgegeben.',
  },
  inView: 'zu sehen',
  inViewFor: '{seconds} s zu sehen',
  questions: ', und {hit} von {asked} Fragen wurden richtig beantwortet',
  question: ', und {hit} von {asked} Frage wurde richtig beantwortet',
  questionsDuring: ', und {hit} von {asked} Fragen dabei wurden richtig beantwortet',
  questionDuring: ', und {hit} von {asked} Frage dabei wurde richtig beantwortet',
  sources: { receipt: 'Ein Beleg', geo_photo: 'Ein Foto mit Ortsangabe' },
  payment: 'Eine Zahlungsreferenz, die niemand nachgesehen hat,',
  lookedUp: 'Eine Zahlung, die am {checked} nachgesehen wurde,',
  lookedUpAmount: 'Eine Zahlung von {amount} {currency}, die am {checked} nachgesehen wurde,',
  tiedTo: {
    session: 'einer bestandenen Sitzung',
    member: 'einem Mitglied, das eine Aufmerksamkeitsprüfung bestanden hatte,',
    work: 'einer Arbeit, die in einer bestandenen Sitzung abgegeben wurde,',
  },
  approval: {
    shownFor: '{ref} bekam diese Aktion {seconds} s lang gezeigt und {decided}.',
    shown: '{ref} bekam diese Aktion gezeigt und {decided}.',
    decisions: { approve: 'gab sie frei', deny: 'lehnte sie ab' },
    enrolled: 'Eine Inhaberin oder ein Inhaber von {agent} hat die Person {way} am {date} aufgenommen.',
    ways: {
      in_console: 'in der Konsole',
      mail_link: 'durch einen Link in einer Mail',
      organization: 'durch die Anmeldung ihrer Firma',
    },
    unknownWay: 'auf eine Weise, die hier nicht bekannt ist,',
    signed: 'Entschieden wurde mit {key}, {age} zuvor registriert, {verified}.',
    keys: {
      attested: 'einem Schlüssel eines bestätigten Modells, der sein Gerät nicht verlässt',
      device: 'einem Passkey, der nach eigener Angabe sein Gerät nicht verlässt',
      synced: 'einem Passkey, den ein Konto auf andere Geräte kopieren kann',
      unknown: 'einem Passkey, von dem niemand weiß, ob er sich kopieren lässt',
    },
    verified: 'entsperrt durch Fingerabdruck, Gesicht oder PIN',
    unverified: 'ohne Prüfung, wer ihn verwendet',
    people: 'Freigaben mit dieser Entscheidung: {decided} von {needed} nötigen.',
    forged:
      'Wer das fälschen will, muss diese Person oder jemanden, dem das Konto gehört, übernehmen oder bestechen.',
    unnamed: 'Eine Entscheidung über eine Aktion wurde signiert; wer entschieden hat, ist nicht genannt.',
  },
  roots: {
    network: {
      shows:
        'Sonst steht nichts dahinter: Ein Skript oder jemand gegen Bezahlung tut das für weniger als einen Dollar je tausend.',
      counted: '',
      uncounted: 'Es bremst Fluten, es schützt keine Werte.',
    },
    authenticator: {
      shows: 'Ein Sicherheitsschlüssel oder Gerät eines bestätigten Modells hat {when} geantwortet.',
      counted: geraet,
      uncounted: geraet,
    },
    app: {
      shows: 'Eine echte App auf einem echten Gerät hat {when} geantwortet.',
      counted: geraet,
      uncounted: geraet,
    },
    privacy_pass: {
      shows:
        'Ein Gerät, das sein Hersteller echt nennt, hat {when} geantwortet, ohne zu sagen, welches es ist.',
      counted: keine,
      uncounted: keine,
    },
    sms: {
      shows: 'Eine Telefonnummer hat es {when} bestätigt.',
      counted: einmal,
      uncounted: keine,
      remark: 'Nummern lassen sich für Cents mieten.',
    },
    card: {
      shows: 'Eine Zahlungskarte hat es {when} bestätigt.',
      counted: einmal,
      uncounted: keine,
      remark: 'Ein Konto kann viele Kartennummern haben.',
    },
    payout_account: {
      shows: 'An ein Konto bei einer Bank oder einem Zahlungsdienst wurde {when} ausgezahlt.',
      counted: einmal,
      uncounted: keine,
    },
    bond: { shows: 'Eine Kaution wurde {when} dafür hinterlegt.', counted: einmal, uncounted: keine },
    pid: {
      shows: 'Eine staatliche Wallet hat {when} ein Dokument ohne Nummer gezeigt.',
      counted: keine,
      uncounted: keine,
    },
    pid_number: {
      shows: 'Eine staatliche Wallet hat {when} ihre Nummer gezeigt, nach Angabe von {issuer}.',
      counted: einmal,
      uncounted: keine,
      remark: 'Wem sie gehört, kann für die Verwendung bezahlt werden.',
    },
    world_id: {
      shows: 'World ID hat {when} für einen Menschen gebürgt.',
      counted: einmal,
      uncounted: keine,
      remark: 'Wem sie gehört, kann für die Verwendung bezahlt werden.',
    },
    vendor: {
      shows: 'Ein Dienst für Ausweisprüfung, {issuer}, hat {when} Dokument und Gesicht verglichen.',
      counted:
        'Er hat niemanden doppelt gefunden: Die Person zählt für diesen Agenten einmal, nach Angabe des Dienstes.',
      uncounted: keine,
    },
    organization: {
      shows:
        'Nach Angabe von {issuer} hat eines seiner Konten bei {agent} das {when} durch eine Anmeldung bestätigt.',
      counted: einmal,
      uncounted: keine,
      remark: 'Das ist so viel wert, wie Sie von {issuer} halten.',
    },
  },
  unknownRoot: 'Eine Grundlage von einer Art, die hier nicht bekannt ist, wird genannt. Sie zählt nichts.',
  noRoots: 'Was sonst dahintersteht, ist nicht genannt.',
  ages: {
    day: { one: 'einen Tag', many: '{n} Tage' },
    hour: { one: 'eine Stunde', many: '{n} Stunden' },
    minute: { one: 'eine Minute', many: '{n} Minuten' },
    second: { one: 'eine Sekunde', many: '{n} Sekunden' },
  },
  fresh: 'bei dieser Handlung',
  earlier: 'am {date}, vor dieser Handlung,',
  unnamedIssuer: '(Aussteller nicht genannt)',
  agent: 'Agent {id}',
  agentNamed: 'Agent {id}, der sich {name} nennt (keine geprüfte Domain),',
  agentVerified: 'Agent {id}, der sich {name} nennt (geprüfte Domain {domain}),',
  quotes: ['„', '“'],
  unmeasured: 'Wie viel davon aufgenommen wurde, ist nicht gemessen.',
  levels: {
    low: 'Dahinter steht etwas Knappes, aber Billiges.',
    substantial:
      'Ein Gerät oder ein Konto hat bei dieser Handlung geantwortet; eine Firma zählt nur, wenn Sie sie in Ihrer Liste haben.',
    high: 'Ein zählbarer Mensch, nach Angabe eines Ausstellers, den Sie nennen können.',
  },
  price: {
    act: 'Das zu fälschen kostet {act} je Handlung, nach dem Stand vom {date}.',
    human: 'Das zu fälschen kostet {human} je Mensch und {act} je Handlung, nach dem Stand vom {date}.',
    named: 'Dafür gibt es keinen Marktpreis: Es ist so viel wert, wie Sie von dem halten, der bürgt.',
    unknown: 'Was es kostet, das zu fälschen, ist nicht bekannt.',
    caveat:
      'Es kann billigere Wege geben, und wer ein eigenes Gerät hat, fälscht eines fast umsonst. Das ist eine Schätzung.',
    belowCent: 'weniger als einen Cent',
    cent: 'mindestens etwa 1 Cent',
    cents: 'mindestens etwa {n} Cent',
    dollar: 'mindestens etwa 1 US-Dollar',
    dollars: 'mindestens etwa {n} US-Dollar',
  },
}
