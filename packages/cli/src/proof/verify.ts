import { text } from 'node:stream/consumers'
import { probesText } from '@pohf/protocol/probes'
import { levelText, sentencesOf, statementOf } from '@pohf/protocol/statements'
import {
  verifyCredential,
  type Check,
  type Claims,
  type Options,
  type Policy,
  type Result,
} from '@pohf/verify'
import { compareEnvelope, type EnvelopeComparison } from '@pohf/verify/approvals'
import { viewLines } from '../approvals/view.ts'
import { messageOf, UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readJson } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'
import { withProgress } from '../command/progress.ts'
import { readTableFile } from './forging.ts'

type VerifyOptions = {
  readonly issuer: string
  readonly kinds: string
  readonly minAssurance: string
  readonly minQuality: string
  readonly minForging?: string
  readonly minForgingHuman?: string
  readonly trustedIssuer?: readonly string[]
  readonly pinnedAgent?: readonly string[]
  readonly enrolledBy?: string
  readonly minApprovers?: string
  readonly keyBound?: boolean
  readonly minKeyAgeDays?: string
  readonly minShownSeconds?: string
  readonly forgingTable?: string
  readonly status: string
  readonly challenge?: string
  readonly maxAge?: string
  readonly allowTest?: boolean
  readonly jwks?: string
  readonly envelope?: string
  readonly json?: boolean
}

/** An option that is no number; the library refuses it. An empty text would be 0. */
const numberOf = (text: string | undefined, otherwise: number): number =>
  text === undefined ? otherwise : text.trim() === '' ? Number.NaN : Number(text)

/** The policy of approvals. Its other options demand nothing without the account whose people must decide. */
const approvalOf = (options: VerifyOptions): Policy['approval'] => {
  const { enrolledBy, minApprovers, keyBound, minKeyAgeDays, minShownSeconds } = options
  const more = [minApprovers, keyBound, minKeyAgeDays, minShownSeconds]
  if (enrolledBy === undefined) {
    if (more.some((given) => given !== undefined))
      throw new UsageError(
        'Demands on approvers need --enrolled-by.',
        'Add --enrolled-by with the id of the agent in whose account they are enrolled.',
      )
    return undefined
  }
  return {
    enrolledBy,
    minApprovers: numberOf(minApprovers, 1),
    keyBound: keyBound === true,
    minKeyAgeDays: numberOf(minKeyAgeDays, 0),
    minShownSeconds: numberOf(minShownSeconds, 0),
  }
}

/** The command-line options as a policy; the library refuses invalid values itself. */
const optionsOf = (options: VerifyOptions): Options => ({
  issuer: options.issuer,
  policy: {
    kinds: options.kinds.split(',') as unknown as Policy['kinds'],
    minAssurance: options.minAssurance as Policy['minAssurance'],
    minQuality: numberOf(options.minQuality, Number.NaN),
    minForging: options.minForging as Policy['minForging'],
    minForgingHuman: options.minForgingHuman as Policy['minForgingHuman'],
    trustedIssuers: options.trustedIssuer,
    pinnedAgents: options.pinnedAgent,
    approval: approvalOf(options),
    status: options.status as Policy['status'],
    challenge: options.challenge,
    maxAgeSeconds: options.maxAge === undefined ? undefined : Number(options.maxAge),
    allowTest: options.allowTest,
  },
  ...(options.forgingTable === undefined ? {} : { forging: readTableFile(options.forgingTable) }),
  ...(options.jwks === undefined ? {} : { jwks: readJson(options.jwks) as Options['jwks'] }),
})

const markOf = (check: Check): string => (!check.ok ? '✗' : check.skipped ? '–' : '✓')

/** What the credential says, in the words of every page, a line for each thing. */
const statementLines = (claims: Claims): string => `${sentencesOf(statementOf(claims)).join('\n')}\n`

const print = (result: Result): void => {
  for (const check of result.checks) console.log(`${markOf(check)} ${check.name.padEnd(10)} ${check.note}`)
  if (!result.ok) {
    console.log(`\nRefused: ${result.reason}. ${result.message}`)
    return
  }
  const { claims } = result
  console.log(`
Accepted: ${claims.kind}${claims.test ? ', a test credential: no person was involved' : ''}
${claims.test ? '' : statementLines(claims)}  credential  ${claims.jti}
  subject     ${claims.sub} (as agent ${claims.agent} sees it)
  act ended   ${new Date(claims.event_at * 1_000).toISOString()}
  assurance   ${claims.assurance}: ${levelText(claims.assurance)}
  roots       ${claims.roots?.map(({ kind }) => kind).join(', ') ?? 'not named'}`)
  const asked = claims.probes && probesText(claims.probes)
  if (asked !== undefined) console.log(`\n${asked}`)
  const { approval, approver } = claims
  if (approval && approver)
    console.log(`
${approver.ref} ${approval.decision === 'approve' ? 'approved' : 'denied'} an action of the type ${approval.type}
  approval    ${approval.id}, to be used by ${new Date(approval.consume_by * 1_000).toISOString()}
  envelope    ${approval.envelope_hash}
It permits nothing by itself: the executor consumes the approval, once.`)
}

const printComparison = (compared: EnvelopeComparison): void => {
  if (!compared.ok) return console.log(`\nRefused: ${compared.reason}. ${compared.message}`)
  console.log(
    compared.view
      ? `\nThe approver was shown this:\n\n${viewLines(compared.view).join('\n')}`
      : '\nThe envelope is the one of the credential. Add the definition of its type to see what the approver was shown.',
  )
}

/** What `--envelope` adds; undefined without it. */
const compareGiven = async (
  result: Result,
  file: string | undefined,
): Promise<EnvelopeComparison | undefined> => {
  if (file === undefined || !result.ok) return undefined
  if (!result.claims.approval)
    throw new UsageError('--envelope is for credentials of kind approval.', 'Leave it out.')
  return compareEnvelope(result.claims.approval, readJson(file))
}

/** `pohf verify`. The library refuses a wrong policy with an error. */
export const verify = async (token: string, options: VerifyOptions): Promise<void> => {
  const jwt = (token === '-' ? await text(process.stdin) : token).trim()
  const check = async () => verifyCredential(jwt, optionsOf(options))
  const result = await withProgress(`verifying against ${options.issuer}`, check).catch((error: unknown) => {
    if (error instanceof UsageError) throw error
    throw new UsageError(messageOf(error), 'Correct the option: pohf verify --help lists the values.', error)
  })
  const compared = await compareGiven(result, options.envelope)
  printAnswer(options, compared ? { ...result, envelope: compared } : result, () => {
    print(result)
    if (compared) printComparison(compared)
  })
  if (!result.ok || compared?.ok === false) process.exitCode = exitCodes.refused
}
