import {
  isInnerList,
  parseDictionary,
  parseItem,
  Token,
  type BareItem,
  type Parameters,
} from 'structured-headers'
import { signatureFault } from '../rules.ts'

/** Tags of trusted agents. An order takes those that stand for a purchase; `agent-browser-auth` is for browsing. */
const knownTags: ReadonlySet<unknown> = new Set(['web-bot-auth', 'agent-payer-auth', 'agent-browser-auth'])
export const orderTags: ReadonlySet<string> = new Set(['web-bot-auth', 'agent-payer-auth'])

type Component = { readonly name: string; readonly key: string | undefined }
/** A signature as its header describes it. Nothing is verified yet. */
export type ClaimedSignature = {
  readonly label: string
  readonly tag: string
  readonly components: readonly Component[]
  readonly parameters: ReadonlyMap<string, BareItem>
}
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** The value of a header; fields that were sent several times are one list. */
export const fieldOf = (headers: Headers, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.join(', ')
}

const componentOf = ([name, parameters]: readonly [BareItem, Parameters]): Component => {
  const key = parameters.get('key')
  if (typeof name !== 'string')
    throw signatureFault('signature_malformed', 'a covered component is no string')
  return { name, key: typeof key === 'string' ? key : undefined }
}

/** The visible misspelling of Visa's sample, which no parser of structured fields accepts. */
const malformed = (text: string) =>
  /[;,]\s*keyId\s*=/.test(text)
    ? signatureFault('keyid_misspelled', 'the parameter is spelled keyid, all in lower case')
    : signatureFault('signature_malformed', 'Signature-Input is no dictionary of structured fields')

const parseInput = (text: string) => {
  try {
    return parseDictionary(text)
  } catch {
    throw malformed(text)
  }
}

/** Whether a request presents a signature of a trusted agent, whatever it is worth. */
export const hasKnownTag = (headers: Headers): boolean =>
  /;\s*tag\s*=\s*"(web-bot-auth|agent-payer-auth|agent-browser-auth)"/.test(
    fieldOf(headers, 'signature-input') ?? '',
  )

/** The one signature of the request that has a known tag. Signatures of others, such as proxies, do not count. */
export const readSignature = (headers: Headers): ClaimedSignature => {
  const found = [...parseInput(fieldOf(headers, 'signature-input') ?? '')].flatMap(([label, member]) => {
    if (!isInnerList(member)) return []
    const [items, parameters] = member
    const tag = parameters.get('tag')
    return typeof tag === 'string' && knownTags.has(tag) ? [{ label, tag, items, parameters }] : []
  })
  const [only, ...others] = found
  if (!only || others.length > 0)
    throw signatureFault('signature_count', `${found.length} signatures have a known tag, expected exactly 1`)
  const { label, tag, items, parameters } = only
  return { label, tag, parameters, components: items.map(componentOf) }
}

const typeOf = (parameters: Parameters): string => {
  const type = parameters.get('type')
  if (type === undefined) return 'directory'
  return type instanceof Token ? type.toString() : typeof type === 'string' ? type : ''
}

const agentItemOf = (
  text: string,
  signature: ClaimedSignature,
): readonly [BareItem, Parameters] | undefined => {
  const covered = signature.components.filter(({ name }) => name === 'signature-agent')
  const [component] = covered
  if (!component)
    throw signatureFault(
      'signature_agent_not_covered',
      'Signature-Agent was sent, so the signature must cover it',
    )
  try {
    // Older signers send one string in place of a dictionary.
    if (component.key === undefined && text.trim().startsWith('"')) return parseItem(text)
    const member = parseDictionary(text).get(component.key ?? signature.label)
    return member === undefined || isInnerList(member) ? undefined : member
  } catch {
    return undefined
  }
}

/** The origin whose key directory has the key; undefined where the request names none. */
export const readSignatureAgent = (headers: Headers, signature: ClaimedSignature): string | undefined => {
  const text = fieldOf(headers, 'signature-agent')
  if (text === undefined) return undefined
  const item = agentItemOf(text, signature)
  const [value, parameters] = item ?? []
  // Not canParse: it accepts hosts of more than 16 kB that the constructor then refuses.
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (!url || !parameters)
    throw signatureFault(
      'signature_agent_malformed',
      'Signature-Agent does not name a URL for this signature',
    )
  if (typeOf(parameters) !== 'directory')
    throw signatureFault('signature_agent_type', 'only the type directory of Signature-Agent is read')
  const { origin } = url
  if (origin === 'null') throw signatureFault('signature_agent_malformed', 'Signature-Agent names no origin')
  return origin
}
