import { verifyEpoch, type EpochToVerify, type EpochVerification } from '@pohf/verify/vhh'
import { messageOf, UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readJson } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'

type VerifyOptions = { readonly issuer: string; readonly jwks: string; readonly json?: boolean }

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** A file holds the answer of an inputs endpoint, or an epoch alone. */
const readDownload = (path: string): Pick<EpochToVerify, 'epoch' | 'inputs'> => {
  const content = readJson(path)
  if (isRecord(content) && isRecord(content['epoch'])) {
    return { epoch: content['epoch'], inputs: content['inputs'] }
  }
  if (isRecord(content) && typeof content['jws'] === 'string') return { epoch: content, inputs: null }
  throw new UsageError(
    `${path} holds no month of the index`,
    'Download one: curl -o vhh.json ADDRESS/api/index/vhh/inputs',
  )
}

const print = ({ ok, checks, claims }: EpochVerification): void => {
  for (const { name, passed, note } of checks) console.log(`${passed ? '✓' : '✗'} ${name.padEnd(10)} ${note}`)
  console.log(ok ? `\nVerified: ${String(claims?.['code'])} ${String(claims?.['epoch'])}` : '\nRefused.')
}

/** `pohf index verify`: nothing is fetched. */
export const verifyIndex = async (file: string, options: VerifyOptions): Promise<void> => {
  const download = readDownload(file)
  const jwks = readJson(options.jwks) as EpochToVerify['jwks']
  const result = await verifyEpoch({ ...download, issuer: options.issuer, jwks }).catch((error: unknown) => {
    throw new UsageError(messageOf(error), 'Correct the option: pohf index verify --help lists them.', error)
  })
  printAnswer(options, result, () => print(result))
  if (!result.ok) process.exitCode = exitCodes.refused
}
