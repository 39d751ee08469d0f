// Fills the sentences of statement-texts.ts with the figures of a credential. No dependencies.
import type { RootKind } from './operations.ts'
import type {
  StatementApprover,
  StatementClaims,
  StatementContext,
  StatementRoot,
} from './statement-claims.ts'
import type { StatementTexts } from './statement-texts.ts'

export type Writer = { readonly texts: StatementTexts; readonly context: StatementContext }

export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place))

export const dayOf = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 10)

const nameStart = /^.{0,80}/u
const rightToLeft = /\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko}/u
/**
 * A name that somebody chose, in quotes that it cannot close. Characters that show nothing, or turn the direction of the text,
 * are left out.
 */
const quoted = (name: string, [open, close]: StatementTexts['quotes']): string => {
  const plain = name.replaceAll(/["'`´‘’‚‛“”„‟«»‹›]/g, '').replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
  const [short = ''] = nameStart.exec(plain.trim()) ?? []
  // Isolated, so that its direction is not that of what follows.
  return `${open}${rightToLeft.test(short) ? `\u2068${short}\u2069` : short}${close}`
}

/** An https address as host and path, in the letters of DNS; any other name in quotes. */
const issuerText = (issuer: string | undefined, texts: StatementTexts): string => {
  if (issuer === undefined) return texts.unnamedIssuer
  const url = URL.parse(issuer)
  if (url?.protocol !== 'https:') return quoted(issuer, texts.quotes)
  return `${url.host}${url.pathname === '/' ? '' : url.pathname}`
}

const agentText = ({ agent: id }: StatementClaims, { texts, context }: Writer): string => {
  const { agentName, agentDomain: domain } = context
  if (agentName === undefined) return fill(texts.agent, { id })
  const name = quoted(agentName, texts.quotes)
  return domain === undefined
    ? fill(texts.agentNamed, { id, name })
    : fill(texts.agentVerified, { id, name, domain })
}

const inViewText = ({ texts, context: { seconds } }: Writer): string =>
  seconds === undefined ? texts.inView : fill(texts.inViewFor, { seconds })

/** How many questions were answered right; nothing where none was asked. */
const questionsText = ({ probes }: StatementClaims, one: string, many: string): string => {
  if (!probes) return ''
  const asked = probes.pictures.asked + probes.words.asked
  const hit = probes.pictures.hit + probes.words.hit
  return asked === 0 ? '' : fill(asked === 1 ? one : many, { asked, hit })
}

const paymentText = ({ binding }: StatementClaims, texts: StatementTexts): string => {
  const { checked_at: checkedAt, amount, currency } = binding ?? {}
  if (checkedAt === undefined) return texts.payment
  const checked = dayOf(checkedAt)
  return amount === undefined || currency === undefined
    ? fill(texts.lookedUp, { checked })
    : fill(texts.lookedUpAmount, { checked, amount, currency })
}

const decisionText = ({ approval, approver }: StatementClaims, texts: StatementTexts['approval']): string => {
  if (!approval || !approver) return texts.unnamed
  const [{ ref }, { shown_seconds: seconds }] = [approver, approval]
  const decided = texts.decisions[approval.decision]
  return seconds === undefined
    ? fill(texts.shown, { ref, decided })
    : fill(texts.shownFor, { ref, decided, seconds })
}

/** The first sentence: what the service saw. */
export const seenSentence = (claims: StatementClaims, writer: Writer): string => {
  const { texts } = writer
  const { kinds } = texts
  switch (claims.kind) {
    case 'view':
      return fill(kinds.view, {
        inView: inViewText(writer),
        questions: questionsText(claims, texts.question, texts.questions),
      })
    case 'work':
      return fill(kinds.work, {
        inView: inViewText(writer),
        questions: questionsText(claims, texts.questionDuring, texts.questionsDuring),
      })
    case 'presence':
      return fill(kinds.presence, { source: texts.sources[claims.presence?.source ?? 'receipt'] })
    case 'personhood':
      return fill(kinds.personhood, { date: dayOf(claims.personhood?.checked_at ?? 0) })
    case 'binding':
      return fill(kinds.binding, {
        payment: paymentText(claims, texts),
        act: texts.tiedTo[claims.binding?.human ?? 'session'],
      })
    case 'purchase':
      return kinds.purchase
    case 'approval':
      return decisionText(claims, texts.approval)
  }
}

const keyOf = ({ key, model }: StatementApprover): keyof StatementTexts['approval']['keys'] => {
  if (key === 'device') return model === undefined ? 'device' : 'attested'
  return key === 'synced' ? 'synced' : 'unknown'
}

const ageUnits = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const
const ageText = (seconds: number, { ages }: StatementTexts): string => {
  const [unit, length] = ageUnits.find(([, each]) => seconds >= each) ?? (['second', 1] as const)
  const n = Math.floor(seconds / length)
  return fill(n === 1 ? ages[unit].one : ages[unit].many, { n })
}

/** By whom and how the approver was enrolled, with which key they decided, with how many others, and what a forger needs. */
export const approverSentences = (claims: StatementClaims, writer: Writer): readonly string[] => {
  const { texts } = writer
  const { approver } = claims
  if (!approver) return []
  const { enrolled, decided, needed } = approver
  const { ways, unknownWay, ...words } = texts.approval
  return [
    fill(words.enrolled, {
      agent: agentText(claims, writer),
      way: Object.hasOwn(ways, enrolled.way) ? ways[enrolled.way as keyof typeof ways] : unknownWay,
      date: dayOf(enrolled.at),
    }),
    fill(words.signed, {
      key: words.keys[keyOf(approver)],
      age: ageText(approver.key_age, texts),
      verified: approver.user_verification ? words.verified : words.unverified,
    }),
    fill(words.people, { decided, needed }),
    words.forged,
  ]
}

/** Of each root, what it shows, whether it counts people, and what a reader must know besides. */
export const rootSentences = (
  claims: StatementClaims,
  roots: readonly (StatementRoot & { readonly known: RootKind | undefined })[],
  writer: Writer,
): readonly string[] => {
  const { texts } = writer
  return roots.map(({ known, issuer, counted, fresh, at }) => {
    if (known === undefined) return texts.unknownRoot
    const root = texts.roots[known]
    const values = {
      when: fresh ? texts.fresh : fill(texts.earlier, { date: dayOf(at) }),
      issuer: issuerText(issuer, texts),
      agent: agentText(claims, writer),
    }
    return [
      root.shows,
      counted ? root.counted : root.uncounted,
      ...(root.remark === undefined ? [] : [root.remark]),
    ]
      .map((sentence) => fill(sentence, values))
      .join(' ')
  })
}

/** An amount below a cent is not said more exactly: nobody can act on it. */
export const amountText = (usd: number, texts: StatementTexts['price']): string => {
  // A thousandth of a power of ten: the sum takes away what the division adds.
  const cents = Math.floor(usd * 100 + 1e-9)
  if (cents < 1) return texts.belowCent
  if (cents < 100) return cents === 1 ? texts.cent : fill(texts.cents, { n: cents })
  const dollars = Math.floor(cents / 100)
  return dollars === 1 ? texts.dollar : fill(texts.dollars, { n: dollars })
}
