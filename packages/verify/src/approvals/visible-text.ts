/** What is wrong with a text, beside what it shows. */
export type TextNote = 'hidden_characters' | 'mixed_scripts' | 'other_digits' | 'outer_spaces'

// Controls, formats (bidi, zero width, tags), surrogates, private use and unassigned code points; what Unicode says is not
// displayed (fillers, joiners, variation selectors); separators other than the space; the empty Braille pattern; and combining
// marks without a letter or digit before them, which would change a character that is not theirs.
const hidden =
  /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u2800]|(?<![\p{L}\p{M}\p{N}])\p{M}/gu

const codePointOf = (character: string): string =>
  `\u27e6U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}\u27e7`

/**
 * The text with every character that shows nothing, or moves others, replaced by its code point in the brackets U+27E6 and
 * U+27E7. Brackets of the text itself are replaced too, so that no text can pretend to be such a code point. A line feed keeps
 * breaking the line, after its code point.
 */
export const visibleText = (text: string): string =>
  text
    .replaceAll(/[\u27e6\u27e7]/gu, codePointOf)
    .replaceAll(hidden, (character) =>
      character === '\n' ? `${codePointOf('\n')}\n` : codePointOf(character),
    )

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

/** What a reader should know about a text. */
export const notesOf = (text: string): TextNote[] => [
  ...(visibleText(text.replaceAll('\n', '')) === text.replaceAll('\n', '')
    ? []
    : (['hidden_characters'] as const)),
  ...(hasMixedScripts(text) ? (['mixed_scripts'] as const) : []),
  // Such as the Bengali four, which looks like an eight.
  ...(/(?![0-9])\p{Nd}/u.test(text) ? (['other_digits'] as const) : []),
  ...(text === text.trim() ? [] : (['outer_spaces'] as const)),
]
