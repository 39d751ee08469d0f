import { hasLookAlikeCharacter, hasLookAlikeWord } from './look-alikes.ts'
import { codePointOf, hasOrdinarySign, isRightToLeft, notPermittedIn } from './permitted-text.ts'

/** What is wrong with a text, beside what it shows. */
export type TextNote =
  | 'not_permitted'
  | 'hidden_characters'
  | 'mixed_scripts'
  | 'look_alikes'
  | 'other_digits'
  | 'right_to_left'
  | 'outer_spaces'

// Controls, formats (bidi, zero width, tags), surrogates, private use and unassigned code points; what Unicode says is not
// displayed (fillers, joiners, variation selectors); separators other than the space; the empty Braille pattern; combining marks
// without a letter or digit before them, which would change a character that is not theirs; and the brackets of code points.
const hidden =
  /[\u27e6\u27e7\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800]|(?<![\p{L}\p{M}\p{N}])\p{M}/gu

/** Every character of a text that is shown by its code point, by its index. */
const hiddenIn = (text: string): ReadonlySet<number> =>
  new Set([...text.matchAll(hidden), ...notPermittedIn(text)].map(({ index }) => index))

/**
 * The text with every character that shows nothing, moves others or may not be in a value replaced by its code point in the
 * brackets U+27E6 and U+27E7. Brackets of the text itself are replaced too, so that no text can pretend to be such a code point.
 * A line feed keeps breaking the line, after its code point.
 */
export const visibleText = (text: string): string => {
  if (/^[ -~]*$/.test(text)) return text
  const isHidden = hiddenIn(text)
  if (isHidden.size === 0) return text
  let shown = ''
  let index = 0
  let follows = false
  for (const character of text) {
    // A mark whose letter is replaced would stand on the bracket.
    follows = isHidden.has(index) || (follows && /\p{M}/u.test(character))
    shown += follows ? `\u27e6${codePointOf(character)}\u27e7${character === '\n' ? '\n' : ''}` : character
    index += character.length
  }
  return shown
}

const latin = /\p{Script=Latin}/u
/** A letter of a script that is not written together with Latin ones. Chinese, Japanese and Korean texts are. */
const notWithLatin =
  /(?![\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}])\p{L}/u
const lookalikes = ['Cyrillic', 'Greek', 'Armenian', 'Cherokee', 'Coptic'].map(
  (script) => new RegExp(`\\p{Script=${script}}`, 'u'),
)
/** Whether something written without a space, such as a name or an address, has letters of scripts that look alike. */
const hasMixedScripts = (text: string): boolean =>
  text
    .split(/\s+/u)
    .some(
      (word) =>
        (latin.test(word) && notWithLatin.test(word)) ||
        lookalikes.filter((script) => script.test(word)).length > 1,
    )

/** What a reader should know about a text, by note. */
const tests: readonly (readonly [TextNote, (text: string) => boolean])[] = [
  ['not_permitted', (text) => notPermittedIn(text).length > 0],
  ['hidden_characters', (text) => text.replaceAll('\n', '').search(hidden) >= 0],
  ['mixed_scripts', hasMixedScripts],
  ['look_alikes', (text) => hasLookAlikeWord(text) || hasLookAlikeCharacter(text) || hasOrdinarySign(text)],
  // Such as the Bengali four, which looks like an eight.
  ['other_digits', (text) => /(?![0-9])\p{N}/u.test(text)],
  ['right_to_left', isRightToLeft],
  ['outer_spaces', (text) => text !== text.trim()],
]

/** What a reader should know about a text. */
export const notesOf = (text: string): TextNote[] =>
  tests.flatMap(([note, applies]) => (applies(text) ? [note] : []))
