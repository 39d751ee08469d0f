import { createHash } from 'node:crypto'
import * as client from 'openid-client'
import { z } from 'zod'
import type { Clock } from '../../platform/ops/clock.ts'
import type { Logger } from '../../platform/ops/log.ts'
import {
  refused,
  type Directory,
  type Finish,
  type OutsideIssuer,
  type Refused,
  type Shown,
  type Subject,
} from '../port.ts'
import { requestMinutes, returnPath, returnPathOf } from '../rules.ts'
import { makeClient, toleranceSeconds, type ClientSettings } from './client.ts'
import { messagesOf, ruleOf } from './fault.ts'

/** The sign-ins that are admitted, by what the provider says of how the person signed in. */
export type Admission = {
  /** Admitted values of `acr`. */
  readonly acr: readonly string[]
  /** Sets of `amr`: a sign-in is admitted that has every value of one of them. */
  readonly amr: readonly (readonly string[])[]
}

export type CompanySettings = ClientSettings & {
  readonly name: string
  /** The claim that names the person within the issuer, and the tenant that it must come from. */
  readonly subjectClaim: 'sub' | 'oid'
  readonly tenant: { readonly claim: 'tid' | 'hd'; readonly value: string } | undefined
  readonly admit: Admission | undefined
  readonly lifeHours: number
  readonly agents: readonly string[] | undefined
  readonly isOwn: boolean
  /** The directory, and which of its names is the claim of the subject. */
  readonly scim: { readonly tokenHash: Buffer; readonly subject: 'externalId' | 'userName' } | undefined
}
type Deps = { readonly origin: string; readonly clock: Clock; readonly log: Logger }

const ownState = z.strictObject({ verifier: z.string(), secret: z.string(), begunAt: z.int() })
const parameter = z.string().max(4_096)
/** The parameters of the address that the provider led back to. Others are left out: each provider adds some. */
const callback = z.object({
  code: parameter.optional(),
  state: parameter,
  iss: parameter.optional(),
  /** The issuer whose own address the provider led back to; the page of that address adds it. */
  issuer: parameter.optional(),
  error: parameter.optional(),
  error_description: parameter.optional(),
})
const claimText = z.string().min(1).max(255)
const signInClaims = z.looseObject({
  sub: claimText,
  aud: z.union([z.string(), z.array(z.string()).max(32)]),
  iat: z.int(),
  auth_time: z.int(),
  acr: z.string().max(255).optional(),
  amr: z.array(z.string().max(64)).max(32).optional(),
})
type Claims = z.infer<typeof signInClaims>

/** Binds a sign-in to what the person does: nobody who sees the address of one can use it for another. */
const nonceOf = (secret: string, { act, jkt, signal }: Subject): string =>
  createHash('sha256')
    .update(['pohf-sign-in-1', secret, act, jkt ?? '', signal].join('\0'))
    .digest('base64url')

/** The code of the human: the same for every sign-in of one account, and no mail address, which may move to another. */
const codeOf = ({ issuer, tenant }: CompanySettings, subject: unknown): string | undefined => {
  const text = claimText.safeParse(subject)
  if (!text.success) return undefined
  const within = tenant === undefined ? [issuer] : [issuer, tenant.value]
  return [...within, text.data].join('\0')
}

/** Another time than the sign-in of this check, or one that has not come yet. */
const areTimesWrong = (claims: Claims, begunAt: number, nowSeconds: number): boolean =>
  claims.auth_time < begunAt - toleranceSeconds ||
  claims.auth_time > nowSeconds + toleranceSeconds ||
  claims.iat > nowSeconds + toleranceSeconds

const admissionFault = (
  admit: Admission | undefined,
  { acr, amr }: Claims,
): 'claim_missing' | 'not_trusted' | undefined => {
  if (admit === undefined) return undefined
  const byAcr = acr !== undefined && admit.acr.includes(acr)
  const byAmr =
    amr !== undefined && admit.amr.some((wanted) => wanted.every((method) => amr.includes(method)))
  if (byAcr || byAmr) return undefined
  const isMissing =
    (admit.acr.length === 0 || acr === undefined) && (admit.amr.length === 0 || amr === undefined)
  return isMissing ? 'claim_missing' : 'not_trusted'
}

const directoryOf = (settings: CompanySettings): Directory | undefined => {
  const { scim } = settings
  return scim && { tokenHash: scim.tokenHash, codeOf: (user) => codeOf(settings, user[scim.subject]) }
}

type SignIn = { readonly claims: Claims; readonly idToken: string }

/** What the ID token must say besides what the library checks. */
const judge = (
  settings: CompanySettings,
  { claims, idToken }: SignIn,
  { begunAt, at }: { readonly begunAt: number; readonly at: Date },
): Shown | Refused => {
  const { tenant, admit, lifeHours } = settings
  // The library checks that we are among the audiences; a token that is also for another service is none of ours.
  if ([claims.aud].flat().length > 1) return refused('not_trusted')
  if (areTimesWrong(claims, begunAt, at.getTime() / 1_000)) return refused('expired')
  if (tenant !== undefined) {
    const value = claims[tenant.claim]
    if (value === undefined) return refused('claim_missing')
    if (value !== tenant.value) return refused('not_trusted')
  }
  const fault = admissionFault(admit, claims)
  if (fault) return refused(fault)
  const human = codeOf(settings, claims[settings.subjectClaim])
  if (human === undefined) return refused('claim_missing')
  return {
    ok: true,
    level: 'low',
    human,
    counted: true,
    checkedAt: at,
    expiresAt: new Date(at.getTime() + lifeHours * 3_600_000),
    evidenceHash: createHash('sha256').update(idToken).digest(),
  }
}

/** The sign-in of a company by OpenID Connect: a fresh one, of one pinned issuer and tenant. */
export const makeOidcIssuer = (settings: CompanySettings, { origin, clock, log }: Deps): OutsideIssuer => {
  const configuration = makeClient(settings)
  // An owner's provider could lead people on to that of another company. With an address of its own, the code of that one never
  // reaches it (RFC 9700, section 4.4).
  const ownName = settings.trust === 'user' ? settings.name : undefined
  const redirectUri = `${origin}${ownName === undefined ? returnPath : returnPathOf(ownName)}`
  const nowSeconds = () => Math.floor(clock.now().getTime() / 1_000)
  const fail = (error: unknown): Refused => {
    const rule = ruleOf(error)
    if (rule === 'unavailable')
      log.warn({ reason: messagesOf(error), issuer: settings.name }, 'outside issuer did not answer')
    return refused(rule)
  }

  const begin: OutsideIssuer['begin'] = async (subject) => {
    const verifier = client.randomPKCECodeVerifier()
    const secret = client.randomNonce()
    try {
      const config = await configuration()
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: subject.handle,
        nonce: nonceOf(secret, subject),
        prompt: 'login',
        max_age: '0',
        ...(settings.admit && settings.admit.acr.length > 0
          ? { acr_values: settings.admit.acr.join(' ') }
          : {}),
      })
      return { request: { url: url.href }, state: { verifier, secret, begunAt: nowSeconds() } }
    } catch (error) {
      return fail(error)
    }
  }

  const exchange = async ({ subject, state, answer }: Finish): Promise<SignIn | Refused> => {
    const { verifier, secret } = ownState.parse(state)
    const parsed = callback.safeParse(answer)
    if (!parsed.success) return refused('wrong_state')
    const { issuer: returnedBy, ...parameters } = parsed.data
    if (parameters.state !== subject.handle || returnedBy !== ownName) return refused('wrong_state')
    const back = new URL(redirectUri)
    for (const [name, value] of Object.entries(parsed.data))
      if (value !== undefined) back.searchParams.set(name, value)
    const tokens = await client.authorizationCodeGrant(await configuration(), back, {
      expectedState: subject.handle,
      expectedNonce: nonceOf(secret, subject),
      pkceCodeVerifier: verifier,
      maxAge: requestMinutes * 60,
      idTokenExpected: true,
    })
    const claims = signInClaims.safeParse(tokens.claims())
    return claims.success && tokens.id_token !== undefined
      ? { claims: claims.data, idToken: tokens.id_token }
      : refused('claim_missing')
  }

  const finish: OutsideIssuer['finish'] = async (input) => {
    const { begunAt } = ownState.parse(input.state)
    try {
      const signIn = await exchange(input)
      return 'ok' in signIn ? signIn : judge(settings, signIn, { begunAt, at: clock.now() })
    } catch (error) {
      return fail(error)
    }
  }

  return {
    name: settings.name,
    adapter: 'oidc',
    issuerId: settings.issuer,
    kind: 'organization',
    sourceClass: 'employer',
    maxLevel: 'low',
    counted: true,
    named: true,
    fresh: true,
    lifeDays: settings.lifeHours / 24,
    agents: settings.agents,
    isOwn: settings.isOwn,
    directory: directoryOf(settings),
    begin,
    finish,
  }
}
