import { verifyReport, type ReportToVerify, type ReportVerification } from '@pohf/verify/approvals'
import { messageOf, UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readJson } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'

type VerifyOptions = { readonly issuer: string; readonly jwks: string; readonly json?: boolean }

const readPack = (path: string): ReportToVerify['pack'] => {
  const content = readJson(path)
  if (typeof content === 'object' && content !== null && 'jws' in content) return content
  throw new UsageError(
    `${path} holds no evidence pack`,
    'Save one as signed JSON in the console, on the page Approvals, part Report.',
  )
}

const print = ({ ok, checks, claims }: ReportVerification): void => {
  for (const { name, passed, note } of checks) console.log(`${passed ? '✓' : '✗'} ${name.padEnd(10)} ${note}`)
  const report = claims?.['report'] as { readonly from: string; readonly to: string } | undefined
  console.log(
    ok
      ? `\nVerified: approvals of ${String(claims?.['sub'])}, ${String(claims?.['mode'])} mode, from ${report?.from} to ${report?.to}`
      : '\nRefused.',
  )
}

/** `pohf approvals audit`: nothing is fetched. */
export const verifyPack = async (file: string, options: VerifyOptions): Promise<void> => {
  const pack = readPack(file)
  const jwks = readJson(options.jwks) as ReportToVerify['jwks']
  const result = await verifyReport({ pack, issuer: options.issuer, jwks }).catch((error: unknown) => {
    throw new UsageError(
      messageOf(error),
      'Correct the option: pohf approvals audit --help lists them.',
      error,
    )
  })
  printAnswer(options, result, () => print(result))
  if (!result.ok) process.exitCode = exitCodes.refused
}
