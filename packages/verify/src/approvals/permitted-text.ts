/** A character that no value of an action may have, as it stands in the value. */
export type CharacterFault = { readonly codePoint: string; readonly message: string }

export const codePointOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

// The blocks that Unicode reserves for scripts that are written from right to left, and the right-to-left mark. Of what is in
// them, only these digits are written from left to right.
const rightToLeftBlocks =
  '\\u0590-\\u08ff\\u200f\\ufb1d-\\ufdff\\ufe70-\\ufeff\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}'
const leftToRightDigits = '\\u0660-\\u0669\\u06f0-\\u06f9\\u{10d30}-\\u{10d39}\\u{10e60}-\\u{10e7e}'
const rightToLeft = new RegExp(`(?![${leftToRightDigits}])[${rightToLeftBlocks}]`, 'gu')
/** No letter on its other side moves a digit. The letters outside of the blocks above are all written from left to right. */
const leftToRightLetters = new RegExp(`((?:(?![${rightToLeftBlocks}])[\\p{Lu}\\p{Ll}\\p{Lt}\\p{Lo}])+)`, 'u')
const digit = /\p{N}/u

/** A mark strikes a digit out or makes it another one; a superscript digit makes a longer number of it. */
const onDigit = /(?<=\p{N})(?:\p{M}+|[\u00b9\u00b2\u00b3])/gu

/**
 * Signs on keyboards that have a compatibility form with letters or digits: ª ² ³ µ ¹ º ¼ ½ ¾ № ™. They are noted and not
 * refused. The others are letters of a living script that have no other spelling: Thai and Lao, Armenian, Korean.
 */
const ordinarySigns = /[\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00bc-\u00be\u2116\u2122]/u
const ownLetters = /[\u0587\u0e33\u0eb3\u0edc\u0edd\u3131-\u318e]/u
/** Letters and digits in circles, squares and brackets, and Roman numerals, for which Unicode names no plain form. */
const withoutPlainForm = /[\u2180-\u2188\u24eb-\u24ff\u2776-\u2793\u{1f100}-\u{1f1ad}]/u

/** The letters or digits that a compatibility character imitates; empty where Unicode does not name them, undefined where it imitates none. */
const imitated = (character: string): string | undefined => {
  if (ordinarySigns.test(character) || ownLetters.test(character)) return undefined
  if (withoutPlainForm.test(character)) return ''
  const plain = character.normalize('NFKC')
  if (plain === character || !/[\p{L}\p{N}]/u.test(plain)) return undefined
  // A letter with its mark, such as those of Devanagari, has two code points in every form and imitates nothing.
  return plain === character.normalize('NFC') && Array.from(plain).length > 1 ? undefined : plain
}
const notAscii = /[^\0-\x7f]/gu

/** A character that no value may have, and what it does there. */
type NotPermitted = { readonly index: number; readonly character: string; readonly message: string }

/** Where a letter that is written from right to left has a digit, and no letter of the other direction between them. */
const besideDigits = (text: string): NotPermitted[] => {
  const found: NotPermitted[] = []
  let start = 0
  for (const run of text.split(leftToRightLetters)) {
    if (digit.test(run))
      for (const { 0: character, index } of run.matchAll(rightToLeft))
        found.push({
          index: start + index,
          character,
          message: 'is written from right to left and stands beside a digit',
        })
    start += run.length
  }
  return found
}

const onDigits = (text: string): NotPermitted[] =>
  [...text.matchAll(onDigit)].flatMap(({ 0: marks, index }) => {
    let at = index
    return Array.from(marks, (character) => {
      const found = { index: at, character, message: 'stands on a digit' }
      at += character.length
      return found
    })
  })

const imitations = (text: string): NotPermitted[] => {
  if (text.normalize('NFKC') === text && !withoutPlainForm.test(text)) return []
  return [...text.matchAll(notAscii)].flatMap(({ 0: character, index }) => {
    const plain = imitated(character)
    if (plain === undefined) return []
    const message = plain === '' ? 'imitates a letter or a digit' : `imitates "${plain}": write that`
    return [{ index, character, message }]
  })
}

/** Every character of a text that no value of an action may have. */
export const notPermittedIn = (text: string): NotPermitted[] => {
  if (!/[^\0-\x7f]/.test(text)) return []
  return [...(digit.test(text) ? [...besideDigits(text), ...onDigits(text)] : []), ...imitations(text)]
}

/** The first character that no value of an action may have; undefined where there is none. */
export const characterFault = (text: string): CharacterFault | undefined => {
  const [first] = notPermittedIn(text).toSorted((a, b) => a.index - b.index)
  if (!first) return undefined
  const codePoint = codePointOf(first.character)
  return { codePoint, message: `has ${codePoint}, which ${first.message}` }
}

/** Whether letters are written from right to left, which the page draws from left to right, as they are signed. */
export const isRightToLeft = (text: string): boolean => text.search(rightToLeft) >= 0
export const hasOrdinarySign = (text: string): boolean => ordinarySigns.test(text)
