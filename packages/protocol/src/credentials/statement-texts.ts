// The sentences of statements.ts, in each language. No dependencies.
import type { Assurance, CredentialKind, RootKind } from './operations.ts'

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** Parts in braces are filled by statements.ts. */
type RootTexts = {
  /** What the root shows, with `{when}`, `{issuer}` and `{agent}`. */
  readonly shows: string
  /** Where the issuer counts each human once; and where it does not. */
  readonly counted: string
  readonly uncounted: string
  /** What a reader must know of it besides. */
  readonly remark?: string
}

type ApprovalTexts = {
  readonly shownFor: string
  readonly shown: string
  readonly decisions: Readonly<Record<'approve' | 'deny', string>>
  readonly enrolled: string
  readonly ways: Readonly<Record<'in_console' | 'mail_link' | 'organization', string>>
  readonly unknownWay: string
  readonly signed: string
  readonly keys: Readonly<Record<'attested' | 'device' | 'synced' | 'unknown', string>>
  readonly verified: string
  readonly unverified: string
  readonly people: string
  readonly forged: string
  /** The claims do not say who decided. */
  readonly unnamed: string
}

type PriceTexts = {
  readonly act: string
  readonly human: string
  readonly named: string
  readonly unknown: string
  readonly caveat: string
  readonly belowCent: string
  readonly cents: string
  readonly cent: string
  readonly dollars: string
  readonly dollar: string
}

export type StatementTexts = {
  readonly kinds: Readonly<Record<Exclude<CredentialKind, 'approval'>, string>>
  readonly inView: string
  readonly inViewFor: string
  readonly questions: string
  readonly question: string
  readonly questionsDuring: string
  readonly questionDuring: string
  readonly sources: Readonly<Record<'receipt' | 'geo_photo', string>>
  readonly payment: string
  readonly lookedUp: string
  readonly lookedUpAmount: string
  readonly tiedTo: Readonly<Record<'session' | 'member' | 'work', string>>
  readonly approval: ApprovalTexts
  readonly roots: Readonly<Record<RootKind, RootTexts>>
  readonly unknownRoot: string
  readonly noRoots: string
  readonly ages: Readonly<
    Record<'day' | 'hour' | 'minute' | 'second', { readonly one: string; readonly many: string }>
  >
  readonly fresh: string
  readonly earlier: string
  readonly unnamedIssuer: string
  readonly agent: string
  readonly agentNamed: string
  readonly agentVerified: string
  readonly quotes: readonly [open: string, close: string]
  readonly unmeasured: string
  readonly levels: Readonly<Record<Assurance, string>>
  readonly price: PriceTexts
}

const device = 'It shows a device, not a person, and does not count people.'
const once = 'It counts once for this agent.'
const none = 'It does not count people.'

const en: StatementTexts = {
  kinds: {
    view: 'In one session this page {inView}{questions}.',
    work: 'This work was delivered in one session, whose page {inView}{questions}.',
    presence: '{source} was handed in during a session; nobody checked the place.',
    personhood: 'The account behind this passed an attention check on {date}.',
    binding: '{payment} was tied to {act}.',
    purchase: 'This work was bought, paid on a chain and delivered in a session that had passed.',
  },
  inView: 'was in view',
  inViewFor: 'was in view for {seconds} s',
  questions: ' and {hit} of {asked} questions were answered right',
  question: ' and {hit} of {asked} question was answered right',
  questionsDuring: ', and {hit} of {asked} questions during it were answered right',
  questionDuring: ', and {hit} of {asked} question during it was answered right',
  sources: { receipt: 'A receipt', geo_photo: 'A photo with a place' },
  payment: 'A payment reference, which nobody looked up,',
  lookedUp: 'A payment, which was looked up on {checked},',
  lookedUpAmount: 'A payment of {amount} {currency}, which was looked up on {checked},',
  tiedTo: {
    session: 'a session that had passed',
    member: 'a member who had passed an attention check',
    work: 'work that was delivered in a session that had passed',
  },
  approval: {
    shownFor: '{ref} was shown this action for {seconds} s and {decided}.',
    shown: '{ref} was shown this action and {decided}.',
    decisions: { approve: 'approved it', deny: 'denied it' },
    enrolled: 'An owner of {agent} enrolled them {way} on {date}.',
    ways: {
      in_console: 'at the console',
      mail_link: 'by a link in a mail',
      organization: 'by the sign-in of their company',
    },
    unknownWay: 'in a way that is not known here',
    signed: 'They decided with {key}, registered {age} before, {verified}.',
    keys: {
      attested: 'a key of an attested model that does not leave its device',
      device: 'a passkey that by its own word does not leave its device',
      synced: 'a passkey that an account can copy to other devices',
      unknown: 'a passkey of which nobody knows whether it can be copied',
    },
    verified: 'after unlocking it with a fingerprint, a face or a PIN',
    unverified: 'which did not check who used it',
    people: 'Approvals with this decision: {decided} of {needed} needed.',
    forged: 'To forge it somebody must take over or bribe this person, or an owner of the account.',
    unnamed: 'A decision about an action was signed; who decided is not named.',
  },
  roots: {
    network: {
      shows:
        'Nothing else stands behind it: a script, or somebody who is paid, does this for less than a dollar a thousand.',
      counted: '',
      uncounted: 'Use it to slow floods, not to protect value.',
    },
    authenticator: {
      shows: 'A security key or a device of an attested model answered {when}.',
      counted: device,
      uncounted: device,
    },
    app: {
      shows: 'A genuine app on a genuine device answered {when}.',
      counted: device,
      uncounted: device,
    },
    privacy_pass: {
      shows: 'A device that its maker calls genuine answered {when}, without saying which.',
      counted: none,
      uncounted: none,
    },
    sms: {
      shows: 'A telephone number confirmed it {when}.',
      counted: once,
      uncounted: none,
      remark: 'Numbers are rented for cents.',
    },
    card: {
      shows: 'A payment card confirmed it {when}.',
      counted: once,
      uncounted: none,
      remark: 'One account can have many card numbers.',
    },
    payout_account: {
      shows: 'An account at a bank or a payment provider was paid {when}.',
      counted: once,
      uncounted: none,
    },
    bond: { shows: 'A deposit was locked for it {when}.', counted: once, uncounted: none },
    pid: {
      shows: 'A government wallet showed a document without a number {when}.',
      counted: none,
      uncounted: none,
    },
    pid_number: {
      shows: 'A government wallet showed its number {when}, by the word of {issuer}.',
      counted: once,
      uncounted: none,
      remark: 'Its owner can be paid to use it.',
    },
    world_id: {
      shows: 'World ID vouched for one human {when}.',
      counted: once,
      uncounted: none,
      remark: 'Its owner can be paid to use it.',
    },
    vendor: {
      shows: 'An identity vendor, {issuer}, compared a document and a face {when}.',
      counted: 'It found no double: the person counts once for this agent, by the word of the vendor.',
      uncounted: none,
    },
    organization: {
      shows: 'By the word of {issuer}, one of its accounts confirmed this for {agent} by a sign-in {when}.',
      counted: once,
      uncounted: none,
      remark: 'It is worth what you think of {issuer}.',
    },
  },
  unknownRoot: 'A root of a kind that is not known here is named. It counts for nothing.',
  noRoots: 'What else stands behind it is not named.',
  ages: {
    day: { one: 'a day', many: '{n} days' },
    hour: { one: 'an hour', many: '{n} hours' },
    minute: { one: 'a minute', many: '{n} minutes' },
    second: { one: 'a second', many: '{n} seconds' },
  },
  fresh: 'in this act',
  earlier: 'on {date}, before this act',
  unnamedIssuer: 'an issuer that is not named',
  agent: 'agent {id}',
  agentNamed: 'agent {id}, which calls itself {name} (no verified domain),',
  agentVerified: 'agent {id}, which calls itself {name} (verified domain {domain}),',
  quotes: ['“', '”'],
  unmeasured: 'How much of it was taken in was not measured.',
  levels: {
    low: 'Something scarce but cheap stands behind it.',
    substantial:
      'A device or an account answered in this act; a company counts only where the reader lists it.',
    high: 'One countable person, by an issuer that you can name.',
  },
  price: {
    act: 'Forging it costs {act} an act by what is known on {date}.',
    human: 'Forging it costs {human} a person and {act} an act by what is known on {date}.',
    named: 'It has no market price: it is worth what you think of who vouches.',
    unknown: 'What forging it costs is not known.',
    caveat:
      'Cheaper ways may exist, and somebody with a device of their own forges one for almost nothing. This is an estimate.',
    belowCent: 'less than a cent',
    cent: 'at least about 1 cent',
    cents: 'at least about {n} cents',
    dollar: 'at least about 1 US dollar',
    dollars: 'at least about {n} US dollars',
  },
}

const geraet = 'Das zeigt ein Gerät, keine Person, und zählt keine Menschen.'
const einmal = 'Das zählt für diesen Agenten einmal.'
const keine = 'Das zählt keine Menschen.'

const de: StatementTexts = {
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

export const statementTexts: Readonly<Record<Language, StatementTexts>> = { en, de }
