import { generateKeyPairSync } from 'node:crypto'
import { isId } from '@pohf/protocol'
import { agentCall, type AgentRemote } from '../../command/agent.ts'
import { CommandError } from '../../command/errors.ts'
import { scriptPathOf, type Control, type Frame, type ScriptPath, type ScriptTag } from './page.ts'
import type { LoadedScript, OpenVisit, PageCall, Visit } from './visit.ts'

/** What the service delivers now at the address of one of its scripts. */
export type ScriptResponse = { readonly status: number; readonly body: Buffer } | { readonly failure: string }

/** What the service says about a site; `answer` is an error code of the service, `ok`, or why there is none. */
export type SiteAnswer = {
  readonly answer: string
  readonly mode: 'test' | 'live' | null
  /** Whether a session was opened to find out. */
  readonly hasOpened: boolean
  /** The agent of the key, where it is another than the site. */
  readonly otherAgent: string | null
}

/** One control with its frame and the service that it calls. */
export type Target = {
  readonly control: Control
  readonly frame: Frame
  /** The origin of the service; null where it cannot be known. */
  readonly service: string | null
}

export type ServiceFacts = {
  /** By URL of the script. */
  readonly delivered: ReadonlyMap<string, ScriptResponse>
  /** A call from the frame of a target to its service, by `${frame origin} ${service}`. */
  readonly connections: ReadonlyMap<string, PageCall>
  /** By `${frame origin} ${service} ${site}`. */
  readonly sites: ReadonlyMap<string, SiteAnswer>
  /** Why the key could not be used. */
  readonly keyFault: string | null
  /** The services that the page uses, if none of them is the one of the key. */
  readonly otherServices: readonly string[]
}

const scriptBytesMax = 1_000_000
const answerMs = 10_000
/** A page with more checks than this gets answers about the first. */
const sitesMax = 5

const otherProducts = /(^|\.)(google\.com|recaptcha\.net|gstatic\.com|hcaptcha\.com|cloudflare\.com)$/
export const isOtherProduct = (url: string): boolean =>
  URL.canParse(url) && otherProducts.test(new URL(url).hostname)

/** Other products have a tag.js too: a script that arrived is ours if it names us. */
export const isPohfScript = (script: LoadedScript): boolean =>
  !isOtherProduct(script.url) && (script.body === null || script.body.includes('pohf'))

/** The service of a frame's controls: by `base-url`, otherwise the origin of the script that arrived. */
export const targetsOf = ({ frames, scripts }: Visit): Target[] =>
  frames.flatMap((frame) => {
    const ours = scripts.filter(
      (script) => isPohfScript(script) && frame.scripts.some((tag) => tag.src === script.url),
    )
    const script = ours.find(({ body }) => body !== null) ?? ours[0]
    return frame.controls.map((control) => {
      const address = control.baseUrl ?? script?.url
      const isAddress = address !== undefined && /^https?:/.test(address) && URL.canParse(address)
      return { control, frame, service: isAddress ? new URL(address).origin : null }
    })
  })

const readLimited = async (response: Response): Promise<Buffer> => {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > scriptBytesMax)
      throw new Error(`the answer of ${response.url} is larger than a script of ours`)
    parts.push(Buffer.from(part))
  }
  return Buffer.concat(parts)
}

const fetchScript = async (service: string, path: ScriptPath): Promise<ScriptResponse> => {
  try {
    const response = await fetch(new URL(path, service), {
      redirect: 'error',
      signal: AbortSignal.timeout(answerMs),
    })
    return { status: response.status, body: await readLimited(response) }
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } }
    return { failure: cause?.code ?? (error instanceof Error ? error.message : String(error)) }
  }
}

/** The service that visit.js calls: its `data-base-url`, otherwise its own origin; null where it cannot be known. */
export const visitServiceOf = ({ src, baseUrl }: ScriptTag): string | null =>
  URL.canParse(baseUrl ?? src) ? new URL(baseUrl ?? src).origin : null

/** The service that a script of the check calls: a `base-url` in its frame, otherwise its own origin. */
const serviceOf = (script: LoadedScript, targets: readonly Target[]): string =>
  targets.find(
    ({ frame, service }) => service !== null && frame.scripts.some(({ src }) => src === script.url),
  )?.service ?? new URL(script.url).origin

const visitService = ({ frames }: Visit, { url }: LoadedScript): string | null => {
  const tag = frames.flatMap(({ scripts }) => scripts).find(({ src }) => src === url)
  return tag ? visitServiceOf(tag) : new URL(url).origin
}

/** Every service that the checks and the script of visits in this page call. */
const servicesOf = ({ frames, scripts }: Visit, targets: readonly Target[]): ReadonlySet<string> => {
  const visits = frames
    .flatMap((frame) => frame.scripts)
    .filter(
      ({ src }) =>
        scriptPathOf(src) === '/visit.js' && scripts.some((one) => one.url === src && isPohfScript(one)),
    )
  const all = [...targets.map(({ service }) => service), ...visits.map(visitServiceOf)]
  return new Set(all.filter((service) => service !== null))
}

type Profile = {
  readonly agentId: string
  readonly mode: 'test' | 'live'
  readonly allowedOrigins: readonly string[]
}

type KeyFacts = { readonly profile?: Profile; readonly fault?: string }

/** The profile of the key's agent. The key goes to the service that the command names, never to one of the page. */
const readProfile = async (remote: AgentRemote): Promise<KeyFacts> => {
  if (remote.key === undefined) return {}
  try {
    return { profile: await agentCall<Profile>(remote, 'GET', '/api/agents/me') }
  } catch (error) {
    if (error instanceof CommandError) return { fault: error.message }
    throw error
  }
}

const errorOf = (text: string): string => {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    return typeof error === 'string' ? error : 'unexpected'
  } catch {
    return 'unexpected'
  }
}

/** Opens a session as the check would and leaves it: it expires, and nothing is recorded in it. */
const openSession = async (visit: OpenVisit, { control, frame, service }: Target): Promise<SiteAnswer> => {
  const { x, y, kty, crv } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
    format: 'jwk',
  })
  const body = JSON.stringify({ site: control.site, key: { kty, crv, x, y } })
  const called = await visit.call(frame, `${service}/api/sessions`, body)
  const none = { mode: null, otherAgent: null }
  if ('blockedBy' in called) return { ...none, answer: called.blockedBy, hasOpened: false }
  const isOpen = called.status >= 200 && called.status < 300
  return { ...none, answer: isOpen ? 'ok' : errorOf(called.text), hasOpened: isOpen }
}

const askSite = async (
  visit: OpenVisit,
  target: Target,
  profile: Profile | undefined,
): Promise<SiteAnswer> => {
  const { control, frame, service } = target
  if (profile?.agentId !== control.site)
    return { ...(await openSession(visit, target)), otherAgent: profile?.agentId ?? null }
  const { allowedOrigins, mode } = profile
  const isAllowed =
    allowedOrigins.length === 0 || frame.origin === service || allowedOrigins.includes(frame.origin)
  return { answer: isAllowed ? 'ok' : 'forbidden', mode, hasOpened: false, otherAgent: null }
}

export const connectionKey = ({ frame, service }: Target): string => `${frame.origin} ${service}`
export const siteKey = (target: Target): string => `${connectionKey(target)} ${target.control.site}`

/** Asks the services of the page. */
export const askServices = async (opened: OpenVisit, remote: AgentRemote): Promise<ServiceFacts> => {
  const targets = targetsOf(opened.visit)
  const delivered = new Map<string, ScriptResponse>()
  for (const script of opened.visit.scripts.filter(isPohfScript)) {
    const path = scriptPathOf(script.url)
    const service = path === '/visit.js' ? visitService(opened.visit, script) : serviceOf(script, targets)
    if (path && service !== null) delivered.set(script.url, await fetchScript(service, path))
  }
  const connections = new Map<string, PageCall>()
  const sites = new Map<string, SiteAnswer>()
  const { profile, fault } = await readProfile(remote)
  for (const target of targets) {
    const { control, frame, service } = target
    if (service === null || sites.size >= sitesMax) continue
    const connection = connectionKey(target)
    // A call without effect: it shows whether the page may call the service at all.
    if (!connections.has(connection))
      connections.set(connection, await opened.call(frame, `${service}/api/sessions`))
    const key = siteKey(target)
    if (!isId('agt_', control.site ?? '') || sites.has(key)) continue
    if ('blockedBy' in (connections.get(connection) ?? { blockedBy: '' })) continue
    const ownProfile = new URL(remote.url).origin === service ? profile : undefined
    sites.set(key, await askSite(opened, target, ownProfile))
  }
  const isOther =
    remote.key !== undefined && !servicesOf(opened.visit, targets).has(new URL(remote.url).origin)
  return {
    delivered,
    connections,
    sites,
    keyFault: fault ?? null,
    otherServices: isOther ? [...servicesOf(opened.visit, targets)] : [],
  }
}
