import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { verifyCredential, type Check, type Options, type Policy, type Result } from '@pohf/verify'

type VerifyOptions = {
  readonly issuer: string
  readonly kinds: string
  readonly minAssurance: string
  readonly minQuality: string
  readonly status: string
  readonly challenge?: string
  readonly maxAge?: string
  readonly allowTest?: boolean
  readonly jwks?: string
  readonly json?: boolean
}

/** The words of the command line as a policy; what does not fit is refused by the library itself. */
const optionsOf = (given: VerifyOptions): Options => ({
  issuer: given.issuer,
  policy: {
    kinds: given.kinds.split(',') as unknown as Policy['kinds'],
    minAssurance: given.minAssurance as Policy['minAssurance'],
    minQuality: given.minQuality.trim() === '' ? Number.NaN : Number(given.minQuality),
    status: given.status as Policy['status'],
    challenge: given.challenge,
    maxAgeSeconds: given.maxAge === undefined ? undefined : Number(given.maxAge),
    allowTest: given.allowTest,
  },
  ...(given.jwks === undefined ? {} : { jwks: JSON.parse(readFileSync(given.jwks, 'utf8')) }),
})

const markOf = (check: Check): string => (!check.ok ? '✗' : check.skipped ? '–' : '✓')

const print = (result: Result): void => {
  for (const check of result.checks) console.log(`${markOf(check)} ${check.name.padEnd(10)} ${check.note}`)
  if (!result.ok) {
    console.log(`\nRefused: ${result.reason}. ${result.message}`)
    return
  }
  const { claims } = result
  console.log(`
Accepted: ${claims.kind}${claims.test ? ', a test credential: no person was involved' : ''}
  credential  ${claims.jti}
  person      ${claims.sub} (as agent ${claims.agent} sees them)
  act ended   ${new Date(claims.event_at * 1_000).toISOString()}
  assurance   ${claims.assurance}
  quality     ${claims.quality ?? 'not measured'}`)
}

/** `pohf verify`: exit code 0 accepted, 1 refused, 2 wrongly called. */
export const verify = async (token: string, given: VerifyOptions): Promise<void> => {
  const jwt = (token === '-' ? await text(process.stdin) : token).trim()
  const check = async () => verifyCredential(jwt, optionsOf(given))
  const result = await check().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 2
    return undefined
  })
  if (!result) return
  print(result)
  if (given.json) console.log(JSON.stringify(result))
  if (!result.ok) process.exitCode = 1
}
