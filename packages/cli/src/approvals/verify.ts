import type { Approval } from '@pohf/protocol'
import type { Options, Policy } from '@pohf/verify'
import { verifyApproval, type ApprovalOptions, type ApprovalResult } from '@pohf/verify/approvals'
import { messageOf, UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readJson } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'
import { numberOf, readAction } from './approvals.ts'

type VerifyOptions = {
  readonly issuer: string
  readonly audience: string
  readonly type: string
  readonly action: string
  readonly approvers: string
  readonly quorum: string
  readonly minAssurance: string
  readonly status: string
  readonly allowTest?: boolean
  readonly jwks?: string
  readonly json?: boolean
}

const print = (result: ApprovalResult): void => {
  if (!result.ok) return console.log(`Refused: ${result.reason}. ${result.message}`)
  console.log(`Approved by ${result.approvers.join(', ')}: exactly this action, for this executor.
  approval       ${result.approvalId}
  envelope hash  ${result.envelopeHash}

It permits nothing by itself: consume it, once, before you act.`)
}

/** `pohf approvals verify`. */
export const verifyFile = async (file: string, options: VerifyOptions): Promise<void> => {
  const approval = readJson(file) as Partial<Approval> | null
  const jwts = (approval?.decisions ?? []).flatMap(({ pohf_jwt }) => pohf_jwt ?? [])
  const result = await verifyApproval(jwts, {
    issuer: options.issuer,
    ...(options.jwks === undefined ? {} : { jwks: readJson(options.jwks) as Options['jwks'] }),
    envelope: approval?.envelope,
    definition: approval?.definition,
    audience: options.audience,
    type: options.type,
    action: readAction(options.action) as ApprovalOptions['action'],
    approvers: options.approvers.split(','),
    quorum: numberOf(options.quorum, '--quorum'),
    minAssurance: options.minAssurance as Policy['minAssurance'],
    status: options.status as Policy['status'],
    allowTest: options.allowTest,
  }).catch((error: unknown) => {
    throw new UsageError(
      messageOf(error),
      'Correct the option: pohf approvals verify --help lists them.',
      error,
    )
  })
  printAnswer(options, result, () => print(result))
  if (!result.ok) process.exitCode = exitCodes.refused
}
