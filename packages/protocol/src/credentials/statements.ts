// What a live credential says, in sentences and a colour, and no more than its evidence does. No dependencies, as in telemetry.ts.
import type { Assurance, CredentialKind, RootClass, RootKind } from './operations.ts'
import {
  amountText,
  approverSentences,
  dayOf,
  fill,
  rootSentences,
  seenSentence,
} from './statement-sentences.ts'
import type { ReaderList, StatementClaims, StatementContext, StatementRoot } from './statement-claims.ts'
import { english } from './statement-texts-en.ts'
import type { StatementTexts } from './statement-texts.ts'

export type {
  ReaderList,
  StatementApprover,
  StatementClaims,
  StatementContext,
  StatementRoot,
} from './statement-claims.ts'

export const emptyList: ReaderList = { trustedIssuers: [], pinnedAgents: [] }

/** Red is for a refused credential, of which nothing is said here. */
export const statementColours = ['grey', 'blue', 'green', 'amber'] as const
export type StatementColour = (typeof statementColours)[number]

export type Statement = {
  readonly colour: StatementColour
  /** What the service saw. */
  readonly seen: string
  /** What stands behind it, the strongest first: a few sentences for each thing. */
  readonly behind: readonly string[]
  /** How much of it was taken in; undefined where there is nothing to take in. */
  readonly attention: string | undefined
}

/** What a root shows at most. A claim that says more of its kind than this counts for nothing. */
type RootRule = { readonly class: RootClass; readonly counted: boolean; readonly level: Assurance }
export const rootRules: Readonly<Record<RootKind, RootRule>> = {
  network: { class: 'address', counted: false, level: 'low' },
  authenticator: { class: 'device:fido', counted: false, level: 'substantial' },
  app: { class: 'device:phone', counted: false, level: 'substantial' },
  privacy_pass: { class: 'device:phone', counted: false, level: 'low' },
  sms: { class: 'number', counted: true, level: 'low' },
  card: { class: 'bank', counted: true, level: 'low' },
  payout_account: { class: 'bank', counted: true, level: 'substantial' },
  bond: { class: 'deposit', counted: true, level: 'substantial' },
  pid: { class: 'document', counted: false, level: 'substantial' },
  pid_number: { class: 'document', counted: true, level: 'high' },
  world_id: { class: 'biometric:world', counted: true, level: 'high' },
  vendor: { class: 'document', counted: true, level: 'high' },
  organization: { class: 'employer', counted: true, level: 'low' },
}
const ruleOf = (kind: string): RootRule | undefined =>
  Object.hasOwn(rootRules, kind) ? rootRules[kind as RootKind] : undefined

/** A root as this version knows it; undefined for another kind, for another class, and where it counts more than it can. */
const knownKindOf = (root: StatementRoot): RootKind | undefined => {
  const rule = ruleOf(root.kind)
  const isKnown = rule?.class === root.class && (rule.counted || !root.counted)
  return isKnown ? (root.kind as RootKind) : undefined
}

/** Whether a root alone makes a credential green. A listed issuer is a company: what it vouches for has no other measure. */
const isGreen = (root: StatementRoot, { trustedIssuers }: ReaderList): boolean => {
  const kind = knownKindOf(root)
  if (kind === undefined) return false
  if (kind === 'organization') return root.issuer !== undefined && trustedIssuers.includes(root.issuer)
  return root.counted && rootRules[kind].level !== 'low'
}

const approvalColour = (
  { agent, approval, approver }: StatementClaims,
  list: ReaderList,
): StatementColour => {
  if (!approval || !approver) return 'amber'
  const isKeyKnown = approver.key === 'device' || approver.key === 'synced'
  if (!isKeyKnown || !approver.user_verification) return 'amber'
  // A denial permits nothing, and so does one approval of two.
  const isEnough = approval.decision === 'approve' && approver.decided >= approver.needed
  return isEnough && list.pinnedAgents.includes(agent) ? 'green' : 'blue'
}

/**
 * The colour of a valid live credential. Grey: the network alone. Blue: a device, number, card or issuer that the reader must
 * know. Green: a counted root at substantial or above, or an issuer that the reader lists. An approval is green only where the
 * reader lists the agent that enrolled its people, and amber where its key is of an unknown kind or did not verify its user.
 */
const colourOf = (claims: StatementClaims, list: ReaderList): StatementColour => {
  const { kind, roots = [] } = claims
  if (kind === 'approval') return approvalColour(claims, list)
  // Nobody checked the place, and a payment is not an act of a person.
  const canBeGreen = kind !== 'presence' && kind !== 'binding'
  if (canBeGreen && roots.some((root) => isGreen(root, list))) return 'green'
  return roots.some((root) => !['network', undefined].includes(knownKindOf(root))) ? 'blue' : 'grey'
}

/** Acts in which there is something to take in. */
const hasContent: Readonly<Record<CredentialKind, boolean>> = {
  view: true,
  work: true,
  purchase: true,
  approval: true,
  presence: false,
  personhood: false,
  binding: false,
}

/** What a valid live credential says. Every page, the command line and the documents take it from here. */
export const statementOf = (claims: StatementClaims, context: StatementContext = {}): Statement => {
  const { texts = english, list = emptyList } = context
  const writer = { texts, context }
  const isApproval = claims.kind === 'approval'
  const roots = (claims.roots ?? []).map((root) => ({ ...root, known: knownKindOf(root) }))
  // A named person signed: a script needs their key.
  const told = isApproval ? roots.filter(({ known }) => known !== 'network') : roots
  return {
    colour: colourOf(claims, list),
    seen: seenSentence(claims, writer),
    behind: [
      ...(isApproval ? approverSentences(claims, writer) : []),
      ...(isApproval || told.length > 0 ? rootSentences(claims, told, writer) : [texts.noRoots]),
    ],
    attention: hasContent[claims.kind] ? texts.unmeasured : undefined,
  }
}

/** All of it, in the order in which it is told. */
export const sentencesOf = ({ seen, behind, attention }: Statement): readonly string[] => [
  seen,
  ...behind,
  ...(attention === undefined ? [] : [attention]),
]

/** What a level demands of the roots. */
export const levelText = (assurance: Assurance, { levels }: StatementTexts = english): string =>
  levels[assurance]

/** What 1,000 forgeries cost in US dollars, as `priceOf` of `@pohf/verify` gives it. */
export type StatementPrice = {
  readonly acts: { readonly usd: number } | 'named'
  readonly humans: { readonly usd: number } | 'named' | 'not_counted'
  /** When the table was issued, in seconds. */
  readonly asOf: number
}

/** What one forgery costs, in numbers and with a date; undefined: what it costs is not known. */
export const priceText = (
  price: StatementPrice | undefined,
  { price: texts }: StatementTexts = english,
): string => {
  if (!price) return texts.unknown
  const { acts, humans, asOf } = price
  if (acts === 'named') return texts.named
  const values = { act: amountText(acts.usd / 1_000, texts), date: dayOf(asOf) }
  const costs =
    typeof humans === 'object'
      ? fill(texts.human, { ...values, human: amountText(humans.usd / 1_000, texts) })
      : fill(texts.act, values)
  return `${costs} ${texts.caveat}`
}
