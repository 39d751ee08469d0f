import type { StatementTexts } from './statement-texts.ts'

const device = 'It shows a device, not a person, and does not count people.'
const once = 'It counts once for this agent.'
const none = 'It does not count people.'

/** What a credential shows, in English. */
export const english: StatementTexts = {
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
