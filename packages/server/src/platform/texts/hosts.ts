import { parse } from 'tldts'
import type { Span, TextView } from './view.ts'

// What a reader could open: a name with a known top-level domain, however its dot is written, an IP address, or a scheme.
// The rules look at structure: a word, a dot, and a top-level domain of the public suffix list.

const labelMax = 63

/**
 * Between two labels. Plain text has a space after a dot and none before, so the reverse is a dot of a name. Each run is
 * bounded: an unbounded one would take time by the square of a text.
 */
const separators = new RegExp(
  [
    String.raw`(?<![.])(?<plain>[.])(?![.])`,
    String.raw`(?<spaced>\s{1,3}[.]\s{0,3})`,
    String.raw`(?<bracketed>\s{0,3}[\[({<]\s{0,3}(?:[.]|dot|punkt|point|punto|ponto)\s{0,3}[\])}>]\s{0,3})`,
    String.raw`(?<spelled>[\s_-]{1,3}(?:dot|punkt|point|punto|ponto)[\s_-]{1,3})`,
  ].join('|'),
  'gu',
)
/** Top-level domains that are no words of plain text: a dot that is spelled out, or follows a number, needs one of these. */
const unmistakable = new Set(
  'com net org info biz gov edu io co me ai app dev xyz ru cn de uk eu fr nl pl br jp ly gg tv cc onion'.split(
    ' ',
  ),
)

const labelBefore = new RegExp(`[\\p{L}\\p{N}_-]{1,${labelMax}}$`, 'u')
/** A top-level domain in ASCII ends where another script begins: the rest of the sentence may follow without a space. */
const labelAfter = new RegExp(
  `^(?:xn--[a-z0-9-]{1,59}|[a-z]{2,${labelMax}}(?![a-z0-9_])|[\\p{L}\\p{M}]{2,${labelMax}})`,
  'u',
)

const isTopLevel = (label: string): boolean =>
  parse(`x.${label}`, { allowPrivateDomains: false }).isIcann === true

type Separator = {
  readonly view: TextView
  readonly start: number
  readonly end: number
  readonly kind: string
}

/** The name around a separator; undefined where it is plain text. */
const nameAround = ({ view, start, end, kind }: Separator): Span | undefined => {
  const { text, original, positionOf } = view
  const [before] = labelBefore.exec(text.slice(Math.max(0, start - labelMax), start)) ?? []
  const [after] = labelAfter.exec(text.slice(end, end + labelMax + 1)) ?? []
  if (before === undefined || after === undefined) return undefined
  const until = positionOf(end + after.length)
  // As it was written: letters that look like Latin ones are those of another top-level domain.
  const written = original.slice(positionOf(end), until).normalize('NFKC').toLowerCase()
  const isAscii = /^[a-z0-9-]+$/.test(after)
  // A full stop of another script ends a sentence, unless Latin letters follow it.
  if (!isAscii && original[positionOf(start)] !== '.') return undefined
  const isShort = /^(?:\d{1,2}|[a-z])$/.test(before)
  if ((kind === 'spelled' || isShort) && !unmistakable.has(after)) return undefined
  if (!isTopLevel(after) && !isTopLevel(written)) return undefined
  return [positionOf(start - before.length), until]
}

const findName = (view: TextView): Span | undefined => {
  for (const match of view.text.matchAll(separators)) {
    const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0] ?? ''
    const found = nameAround({ view, start: match.index, end: match.index + match[0].length, kind })
    if (found) return found
  }
  return undefined
}

const octet = '(?:0x[0-9a-f]{1,8}|\\d{1,3})'
const addressPatterns: readonly RegExp[] = [
  // A scheme, or a path of another server.
  /[a-z][a-z0-9+.-]{0,30}\s{0,2}:\s{0,2}[/\\]\s{0,2}[/\\]|(?<![\w/\\])[/\\]{2}[\p{L}\p{N}]/u,
  /\b(?:mailto|tel|sms|javascript|data):\S/u,
  /\bwww\s{0,2}[.]/u,
  /\bxn--[a-z0-9]/u,
  // Four numbers with dots, and one number that stands for them before a path.
  new RegExp(`(?<![\\w.])${octet}(?:[.]${octet}){3}(?![\\w.]*[\\w])`, 'u'),
  /\b0x[0-9a-f]{8}\b|\b\d{8,10}\/[a-z]/u,
]
const ipv6Like = /(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])/gu

const findAddress = ({ text, positionOf }: TextView): Span | undefined => {
  for (const pattern of addressPatterns) {
    const match = pattern.exec(text)
    if (match) return [positionOf(match.index), positionOf(match.index + match[0].length)]
  }
  for (const match of text.matchAll(ipv6Like))
    if (URL.canParse(`http://[${match[0]}]`))
      return [positionOf(match.index), positionOf(match.index + match[0].length)]
  return undefined
}

/** The first part of a text that is like a host or a link. */
export const findHost = (view: TextView): Span | undefined => findAddress(view) ?? findName(view)
