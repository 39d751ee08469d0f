/** What happens to the key of a purpose, and to what was made with it, when the master key gets a new version. */
type Rotation =
  /** `pohf keys rewrap` opens every value of these columns and seals it under the new version. */
  | { readonly how: 'resealed'; readonly columns: readonly string[] }
  /** New values are made under the new version. Those of the old one are accepted for this time, unless it is retired sooner. */
  | { readonly how: 'expires'; readonly hours: number }
  /** Each version has its own value. */
  | { readonly how: 'recomputed' }
  /** The key stays as it is, in a line of its own in `master.key`. */
  | { readonly how: 'kept'; readonly why: string }

/** What a derived key protects, and what its loss or disclosure costs. Published in docs/reference/master-key.md. */
type SecretPurposeDescription = {
  readonly protects: string
  readonly rotation: Rotation
  /** The master key is lost and the service runs with a new one. */
  readonly ifLost: string
  /** Somebody else holds the master key. */
  readonly ifLeaked: string
}

/** Every purpose for which a key is derived from the master key. A purpose is never renamed: its key would change. */
export const secretPurposes = {
  approval: {
    protects: 'The challenge that ties a recording to one approval and one approver.',
    rotation: { how: 'expires', hours: 0 },
    ifLost:
      'Nothing: each challenge is stored with its approval. New approvals get challenges of the new key.',
    ifLeaked:
      'The challenge of a decision can be computed from the ids of the approval and the approver. To approve, a caller still needs the login of the approver and a passkey that the approver had before the request.',
  },
  'approver-value': {
    protects: 'Keyed hashes of the critical values that each approver has approved.',
    rotation: {
      how: 'kept',
      why: 'Nobody stores the values that were hashed.',
    },
    ifLost: 'Approvers are told of every value that it is new, until they have approved it once more.',
    ifLeaked:
      'With the database, a value that somebody guesses can be found among those that an approver has approved.',
  },
  attention: {
    protects: 'The challenge that ties an attention check to the member for whom it was started.',
    rotation: { how: 'expires', hours: 24 },
    ifLost: 'A check that is under way is refused. The person repeats it.',
    ifLeaked:
      'The challenge of a member can be computed from the member id. To count a check, a caller still needs the invitation link and the login of the person.',
  },
  cursor: {
    protects: 'The cursors of lists, which hold a position, the agent and the filters.',
    rotation: { how: 'expires', hours: 24 },
    ifLost: 'Cursors that clients hold are refused. The client starts its list again.',
    ifLeaked:
      'Anybody can write a cursor. It leads to another position in a list of the same agent and to nothing else.',
  },
  'console-bearer': {
    protects: 'The bearers of ten minutes that the console uses for the API.',
    rotation: { how: 'expires', hours: 1 },
    ifLost: 'Bearers of the last ten minutes are refused. The page requests a new one.',
    ifLeaked:
      'Anybody who knows the id of an open session of the console can make a bearer for it. The database holds these ids.',
  },
  doctor: {
    protects: 'The request of `pohf doctor` that asks how it arrived, through which proxy.',
    rotation: { how: 'expires', hours: 0 },
    ifLost: 'Nothing: the doctor and the service use the new key.',
    ifLeaked:
      'Anybody can see the address of the proxy that their own request passed, and what the proxy says of them.',
  },
  'operator-bearer': {
    protects: 'The bearers of ten minutes that the operators’ pages use.',
    rotation: { how: 'expires', hours: 1 },
    ifLost: 'Bearers of the last ten minutes are refused. The page requests a new one.',
    ifLeaked:
      'Anybody who reaches the operators’ listener and knows the id of an open session of an operator can make a bearer for it. The database and the audit log hold these ids.',
  },
  external: {
    protects:
      'The signal that the answer of an outside issuer must cover, derived from the person or session.',
    rotation: { how: 'expires', hours: 24 },
    ifLost: 'A check with an outside issuer that is under way is refused. The person begins it again.',
    ifLeaked: 'With the database, an issuer can match the signals that it saw to people and sessions.',
  },
  'external-codes': {
    protects: 'The stored hashes of the codes by which outside issuers identify one human.',
    rotation: {
      how: 'kept',
      why: 'Only the hashes of the codes are stored, and the issuer does not send a code again.',
    },
    ifLost:
      'The hashes match nothing any more, so a human can show the same proof for a second person, and a person whom a company removes keeps the proof until it expires.',
    ifLeaked: 'With the database, an issuer can find the person to whom a code belongs.',
  },
  fingerprint: {
    protects:
      'The fingerprints in the database, by which an api or a worker with another master key is refused at its start.',
    rotation: { how: 'recomputed' },
    ifLost:
      'Neither api nor worker starts with a new master key until the fingerprint is deleted from the database.',
    ifLeaked: 'Nothing: the fingerprint is the same for everybody who can read the database.',
  },
  'free-plan': {
    protects: 'The tags by which agents of one mail domain or mailbox are counted for the free plan.',
    rotation: {
      how: 'kept',
      why: 'The mail addresses are in the same database, so a new key would protect nothing.',
    },
    ifLost: 'The count of each mail domain starts at zero again. Agents that hold the free plan keep it.',
    ifLeaked:
      'With the database, tags can be matched to mail domains. The database also holds the mail addresses.',
  },
  'human-code': {
    protects: 'The code of a human for registry contracts, and the nullifier that such a contract stores.',
    rotation: {
      how: 'kept',
      why: 'The codes are stored by contracts on chains. A human with a new code could register a second wallet.',
    },
    ifLost:
      'A human gets a new nullifier and can register a second wallet, while the first stays valid until its token expires.',
    ifLeaked:
      'With the database, nullifiers on a chain can be matched to people, and to each other across agents.',
  },
  index: {
    protects: 'The pseudonyms of funding clusters and workers in the published inputs of the VHH index.',
    rotation: {
      how: 'kept',
      why: 'The pseudonyms are published. A month that is restated must have the same ones.',
    },
    ifLost:
      'A month that is restated later has other pseudonyms. Published epochs and their inputs stay valid.',
    ifLeaked:
      'With the database, the rows of published inputs can be matched to buyers, and the listed workers to the codes of their Star accounts.',
  },
  'company-secret': {
    protects: 'The client secrets of the sign-ins of companies that owners set up.',
    rotation: { how: 'resealed', columns: ['company_issuers.client_secret_sealed'] },
    ifLost:
      'Nobody can sign in with these companies. An owner of each enters the secret again in the console.',
    ifLeaked:
      'With the database, an attacker can present a code that they stole from a browser of the company. To get one, they need the sign-in of a person.',
  },
  'issuer-state': {
    protects: 'What a browser keeps of a check with an outside issuer, from its begin to its answer.',
    rotation: { how: 'expires', hours: 1 },
    ifLost: 'Checks of the last ten minutes are refused. The person begins again.',
    ifLeaked:
      'Anybody who holds the state of a browser reads the secrets of that sign-in. Each works once, for the same person and within ten minutes.',
  },
  journal: {
    protects:
      'The keys in the signer’s journal by which an act, a photo or a token is recognised after a restore of the database.',
    rotation: {
      how: 'kept',
      why: 'The journals of the signers hold only these keys, and no signer writes a journal line anew.',
    },
    ifLost:
      'After a restore to a time before the loss, acts of the lost span cannot be recognised, so they can be minted a second time.',
    ifLeaked:
      'With the journal, whether an act whose agent and reference are known was minted. The journal is readable by the signer alone.',
  },
  mail: {
    protects: 'The text of mails that wait in the outbox, with the links in them.',
    rotation: { how: 'resealed', columns: ['outbox.payload'] },
    ifLost:
      'Waiting mails cannot be sent. They stay in the outbox and fail every 30 minutes; people request new ones.',
    ifLeaked:
      'With the database, waiting mails can be read. A confirmation or recovery link works until it is used or expires.',
  },
  'mail-recipient': {
    protects: 'The tags by which the mails to one mailbox are counted for a day.',
    rotation: { how: 'expires', hours: 0 },
    ifLost: 'The counts of the present day start at zero again.',
    ifLeaked: 'With the database, an attacker can find out how many mails a mailbox got on the present day.',
  },
  network: {
    protects:
      'The tags of networks: registrations are counted by them for the free plan, buyers are joined to funding clusters, and the network of a worker or of a micro-task’s visitor is recognised.',
    rotation: {
      how: 'kept',
      why: 'Only the tags of the networks are stored. With new ones, limits by network would start at zero.',
    },
    ifLost:
      'New tags do not match older ones. The count of registrations of each network starts at zero, buyers before and after the loss are not joined by their network, workers in the network of an older buyer are not flagged, and visitors can get micro-tasks of the present day again.',
    ifLeaked:
      'With the database, the IPv4 address or IPv6 network of a registration can be found by trying all.',
  },
  nullifier: {
    protects: 'The nullifiers of actions that a human may do once at an agent.',
    rotation: {
      how: 'kept',
      why: 'Agents hold the nullifiers, and with a new key every human could repeat every action.',
    },
    ifLost: 'Every human can repeat every such action, and gets another nullifier for it.',
    ifLeaked: 'With the database, nullifiers that agents hold can be matched to people.',
  },
  'onchain-wallet': {
    protects: 'The stored hash of the wallet that a human uses on chains.',
    rotation: {
      how: 'kept',
      why: 'Only the hashes of the wallets are stored.',
    },
    ifLost: 'The stored wallets match nothing; see human-code.',
    ifLeaked: 'With the database, a wallet can be matched to the stored code of its human.',
  },
  pairwise: {
    protects: 'The `sub` of credentials: one for each person and agent, different at each agent.',
    rotation: {
      how: 'kept',
      why: 'Agents hold the `sub` of their visitors. With a new key, every known person would be a new one.',
    },
    ifLost:
      'New credentials of a known person carry a new `sub`. Nobody can link them to the older ones, not even this service.',
    ifLeaked: 'The `sub` can be computed from an agent id and a member id, session key or session id.',
  },
  'payout-account': {
    protects:
      'The stored hashes of the accounts that workers named for payouts: one person for each account.',
    rotation: {
      how: 'kept',
      why: 'Only the hashes of the accounts are stored. With new ones, a second person could name the same account.',
    },
    ifLost:
      'The hashes match nothing any more, so a second person can name the same account, and approved payouts to named accounts cannot be recorded as paid: reject them, and let the workers request them again.',
    ifLeaked:
      'With the database, an account can be matched to the pseudonym of its worker by trying account numbers.',
  },
  purchase: {
    protects:
      'The purchase id of a payment challenge, which binds price, network and recipient for ten minutes.',
    rotation: { how: 'expires', hours: 1 },
    ifLost: 'Open challenges are refused; the buyer requests a new one. Stored purchases are not affected.',
    ifLeaked:
      'Anybody can issue purchase ids that are valid for longer than ten minutes. The price is always the current one.',
  },
  'request-fingerprint': {
    protects:
      'The fingerprint of a request of a person or an operator with an `Idempotency-Key`, kept for a day. Such a request may contain an account number.',
    rotation: { how: 'expires', hours: 24 },
    ifLost: 'A repeated call with the same key is refused with `idempotency_key_reused` for up to a day.',
    ifLeaked: 'With the database, the content of a request of the last day can be found by trying.',
  },
  'root-keys': {
    protects:
      'The key of each day, under which the networks of sessions are counted and the addresses of sessions are sealed.',
    rotation: { how: 'resealed', columns: ['root_keys.sealed'] },
    ifLost:
      'The keys of today and tomorrow cannot be opened. Until the day after tomorrow, live credentials draw on the small budget of an unknown network, and those with a stronger root get 503.',
    ifLeaked:
      'With the database, the addresses of sessions of the last two days can be read. Those of earlier days cannot: their keys are destroyed.',
  },
  'session-key': {
    protects: 'The key of each session, which encrypts its recording.',
    rotation: { how: 'resealed', columns: ['session_keys.sealed'] },
    ifLost:
      'No stored recording can be opened again: no replay, export, audit or second scoring. Sessions that are open or not scored yet are lost. Credentials and the hashes of recordings stay valid.',
    ifLeaked: 'With the database, every stored recording can be read.',
  },
  'step-up': {
    protects: 'The links to the page on which a person answers with an attested authenticator.',
    rotation: { how: 'expires', hours: 24 },
    ifLost: 'Links of the last 24 hours are refused. The agent asks for a new one.',
    ifLeaked:
      'Anybody can make a link for a session or member whose id they know. An answer there still needs an attested authenticator.',
  },
  'task-pseudonym': {
    protects: 'The pseudonyms of the visitors of micro-task campaigns.',
    rotation: {
      how: 'kept',
      why: 'Campaigns count the answers of visitors by them. With new ones, a visitor could answer a question again.',
    },
    ifLost: 'Visitors count as new in every campaign, and can answer a question again.',
    ifLeaked: 'With the database, the visitors of a campaign can be matched to members.',
  },
  'task-token': {
    protects:
      'Tokens of micro-tasks, the answers of items that the service makes, and which question a visitor is shown.',
    rotation: { how: 'expires', hours: 1 },
    ifLost: 'Tokens that were issued in the last ten minutes are refused. The page requests a new task.',
    ifLeaked:
      'Anybody can complete tasks of any site without having been given them and knows the answers of items that the service makes. A live completion counts only behind a recorded session.',
  },
  'task-visitor': {
    protects: 'The tokens by which an agent names a member as the visitor who answers micro-tasks.',
    rotation: { how: 'expires', hours: 1 },
    ifLost: 'Tokens of the last hour count as anonymous. The page requests a new one.',
    ifLeaked:
      'Anybody can name a member of any agent as the visitor, so that the Stars of a right answer go to that member.',
  },
  vt: {
    protects: 'View tokens, which tie beacons and conversions to a verified view.',
    rotation: { how: 'expires', hours: 30 * 24 },
    ifLost: 'View tokens that sites hold are refused, so later events of those views are not counted.',
    ifLeaked:
      'Anybody who knows the session id of a verified view can send beacons for it. Conversions also need the API key of the agent.',
  },
  webhook: {
    protects: 'The signing secrets of webhook endpoints.',
    rotation: {
      how: 'resealed',
      columns: ['webhook_endpoints.secret_sealed', 'webhook_endpoints.previous_sealed'],
    },
    ifLost:
      'No delivery can be signed. Each agent must rotate the secret of each endpoint with `overlapSeconds` 0; until then its deliveries wait.',
    ifLeaked: 'With the database, an attacker can sign webhook deliveries as this service.',
  },
  worker: {
    protects: 'The pseudonyms of workers: one in the Star accounts, one for each buyer.',
    rotation: {
      how: 'kept',
      why: 'The Stars of workers are in accounts with these names, and buyers know workers by them.',
    },
    ifLost:
      'The Stars that workers earned stay in accounts that no longer lead to them, so they cannot request payouts. Buyers see known workers as new. Export and erasure no longer find recordings of a person’s paid work.',
    ifLeaked:
      'With the database, Star accounts and the workers of different buyers can be matched to people.',
  },
} as const satisfies Readonly<Record<string, SecretPurposeDescription>>

export type SecretPurpose = keyof typeof secretPurposes
type PurposeOf<How extends Rotation['how']> = {
  [Purpose in SecretPurpose]: (typeof secretPurposes)[Purpose]['rotation']['how'] extends How
    ? Purpose
    : never
}[SecretPurpose]
export type KeptPurpose = PurposeOf<'kept'>
export type ExpiringPurpose = PurposeOf<'expires'>
export type ResealedPurpose = PurposeOf<'resealed'>

const purposeNames = Object.keys(secretPurposes) as SecretPurpose[]
const rotationOf = (purpose: SecretPurpose): Rotation => secretPurposes[purpose].rotation
const kept: ReadonlySet<string> = new Set(
  purposeNames.filter((purpose) => rotationOf(purpose).how === 'kept'),
)
export const isKept = (purpose: SecretPurpose): purpose is KeptPurpose => kept.has(purpose)
export const keptPurposes: readonly KeptPurpose[] = purposeNames.filter(isKept)

/** How long after a new version began to seal something that the one before made may still be valid. */
export const acceptedHoursMax = Math.max(
  ...purposeNames.map((purpose) => {
    const rotation = rotationOf(purpose)
    return rotation.how === 'expires' ? rotation.hours : 0
  }),
)
