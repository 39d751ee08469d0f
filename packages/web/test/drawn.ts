import { partsOf } from '../src/approver/approval/rules.ts'

/** A generator of pseudorandom numbers from 0 to below n: the same seed makes the same values. */
export const makeRandom = (seed: number): ((n: number) => number) => {
  let state = seed
  return (n) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n
  }
}

const windowSize = 128
const isAssigned = (code: number): boolean => !/[\p{Cn}\p{Cs}]/u.test(String.fromCodePoint(code))
const ideographs =
  /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Tangut}\p{Script=Egyptian_Hieroglyphs}\p{Co}]+$/u

/** The assigned code points, in pieces of 128. Of the long blocks of ideographs and private use, one piece in 32. */
const pieces = (): string[][] => {
  const found: string[][] = []
  for (let start = 0; start < 0x110000; start += windowSize) {
    const codes = Array.from({ length: windowSize }, (_, index) => start + index).filter(isAssigned)
    const piece = codes.map((code) => String.fromCodePoint(code))
    if (piece.length === 0) continue
    if (ideographs.test(piece.join('')) && (start / windowSize) % 32 !== 0) continue
    found.push(piece)
  }
  return found
}

const ascii = Array.from('0123456789 -./,:@_aZxKe')
/** What moves others, or looks like others: from every kind of the attacks on values. */
const hostile = Array.from(
  '\u05be\u05f3\u05d0\u05d1\u0627\u0628\u0664\u06f4\u07c1\u200f\u202e\u2067\u0301\u0336\u20e3\u2460\u2163\u2024\u2044\u2212\u2019\u0430\u0440\u0441\u03bf\u00b2\u212a\uff11\u{1d40f}\u{1e900}\u{10800}\u{1f1e9}',
)

/** Values of characters of one piece, mixed with ASCII and with each other; each piece in turn, so that none is left out. */
export function* fuzzValues(count: number, random: (n: number) => number): Generator<string> {
  const all = pieces()
  const seen = new Set<string>()
  const start = random(all.length)
  for (let n = 0; seen.size < count; n += 1) {
    const own = all[(start + n * 7) % all.length] ?? ascii
    const other = all[random(all.length)] ?? ascii
    const sources = [own, own, own, ascii, ascii, [other, hostile][random(2)] ?? own]
    const value = Array.from({ length: 1 + random(16) }, () => {
      const source = sources[random(sources.length)] ?? own
      return source[random(source.length)] ?? ''
    }).join('')
    if (seen.has(value)) continue
    seen.add(value)
    yield value
  }
}

/** What the page writes for a shown text. */
export const writtenOf = (shown: string): string =>
  partsOf(shown)
    .map(({ text, isMark }) => (isMark && text === 'U+000A' ? '↵' : text))
    .join('')

export type Drawn = { readonly text: string; readonly inOrder: boolean }

/**
 * An expression for the page: the text of each element, and whether its graphemes are drawn one after the other, each to the right
 * of the one before or on a line below. A mark in place of a code point is one grapheme.
 */
export const readDrawn = (elements: string): string => `(() => {
  const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
  const boxOf = (range) => {
    const boxes = [...range.getClientRects()]
    return boxes.find(({ width }) => width > 0) ?? boxes[0]
  }
  const boxesOf = (element) => {
    const found = []
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const range = document.createRange()
      if (node.parentElement.tagName === 'MARK') {
        range.selectNodeContents(node)
        found.push(boxOf(range))
        continue
      }
      for (const { index, segment } of graphemes.segment(node.data)) {
        if (segment === '\\n') continue
        range.setStart(node, index)
        range.setEnd(node, index + segment.length)
        found.push(boxOf(range))
      }
    }
    return found.filter((box) => box !== undefined)
  }
  const follows = (box, before) => {
    // A mark is smaller than a headline, and the lines of a headline overlap a little.
    const overlap = Math.min(box.bottom, before.bottom) - Math.max(box.top, before.top)
    const isSameLine = overlap > Math.min(box.height, before.height) / 2
    return isSameLine ? box.left >= before.left - 0.5 && box.right >= before.right - 0.5 : box.top > before.top
  }
  return (${elements}).map((element) => {
    const boxes = boxesOf(element)
    return {
      text: element.textContent,
      inOrder: boxes.every((box, index) => index === 0 || follows(box, boxes[index - 1])),
    }
  })
})()`
