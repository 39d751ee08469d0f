// Characters that look like others, from confusables.txt of Unicode's Security Mechanisms (UTS #39, version 17.0).

/** Letters of other scripts that look like a Latin letter or a digit. */
const letters = [
  // Cyrillic, Greek, Armenian, Georgian, Cherokee, Coptic, Lisu, Canadian syllabics, Tifinagh, Runic
  '\\u0405\\u0406\\u0408\\u0410\\u0412\\u0415\\u0417\\u041a\\u041c-\\u041e\\u0420-\\u0423\\u0425\\u042c\\u0430\\u0431\\u0433\\u0435\\u043e\\u0440\\u0441\\u0443\\u0445\\u0448\\u0455\\u0456\\u0458\\u0461\\u0474\\u0475\\u04ae\\u04af\\u04bb\\u04bd\\u04c0\\u04cf\\u04e0\\u0501\\u050c\\u051b-\\u051d\\ua644\\ua647',
  '\\u037f\\u0391\\u0392\\u0395-\\u0397\\u0399\\u039a\\u039c\\u039d\\u039f\\u03a1\\u03a4\\u03a5\\u03a7\\u03b1\\u03b3\\u03b9\\u03bd\\u03bf\\u03c1\\u03c3\\u03c5\\u03dc\\u03f3\\u03f8\\u03fa\\u1d26',
  '\\u054d\\u054f\\u0555\\u0561\\u0563\\u0566\\u0570\\u0578\\u057c\\u057d\\u0581\\u0582\\u0584\\u0585',
  '\\u10e7\\u10ff',
  '\\u13a0-\\u13a2\\u13a5\\u13a9-\\u13ac\\u13b3\\u13b7\\u13bb\\u13bd\\u13c0\\u13c2\\u13c3\\u13ce\\u13cf\\u13d2\\u13d4\\u13d5\\u13d9\\u13da\\u13de\\u13df\\u13e2\\u13e6\\u13e7\\u13ee\\u13f3\\u13f4\\uab75\\uab81\\uab83\\uab93\\uaba9\\uabaa\\uabaf',
  '\\u03e8\\u03ec\\u03ed\\u2c82\\u2c85\\u2c8e\\u2c92-\\u2c94\\u2c98\\u2c9a\\u2c9c\\u2c9e\\u2c9f\\u2ca2-\\u2ca6\\u2ca8\\u2ca9\\u2cac\\u2cbd\\u2cc4\\u2cca-\\u2ccc\\u2cce-\\u2cd0\\u2cd2\\u2cd3\\u2cdc',
  '\\ua4d0-\\ua4d4\\ua4d6\\ua4d7\\ua4d9\\ua4da\\ua4dc\\ua4dd\\ua4df-\\ua4e3\\ua4e6\\ua4e7\\ua4ea-\\ua4ec\\ua4ee\\ua4f0\\ua4f2-\\ua4f4',
  '\\u142f\\u144c\\u146d\\u146f\\u1472\\u148d\\u14aa\\u14bf\\u1541\\u157c\\u157d\\u1587\\u15af\\u15b4\\u15c5\\u15de\\u15ea\\u15f0\\u15f7',
  '\\u2d38\\u2d39\\u2d4f\\u2d54\\u2d55\\u2d5d',
  '\\u16b7\\u16c1\\u16d5\\u16d6',
  // Deseret, Old Italic, Carian, Lycian, Elbasan, Osage, Miao, Warang Citi
  '\\u{10404}\\u{10415}\\u{1041b}\\u{10420}\\u{1042c}\\u{1043d}\\u{10448}',
  '\\u{10301}\\u{10302}\\u{10309}\\u{10311}\\u{10315}\\u{10317}\\u{1031a}',
  '\\u{102a0}-\\u{102a2}\\u{102a5}\\u{102ab}\\u{102b0}-\\u{102b2}\\u{102b4}\\u{102cf}',
  '\\u{10282}\\u{10286}\\u{10287}\\u{1028a}\\u{10290}\\u{10292}\\u{10295}-\\u{10297}',
  '\\u{10513}\\u{10516}\\u{10518}\\u{1051c}\\u{1051d}\\u{10525}-\\u{10527}',
  '\\u{104b4}\\u{104c2}\\u{104ce}\\u{104d2}\\u{104ea}\\u{104f6}',
  '\\u{16f08}\\u{16f0a}\\u{16f16}\\u{16f28}\\u{16f35}\\u{16f3a}\\u{16f3b}\\u{16f40}\\u{16f42}\\u{16f43}',
  '\\u{118a0}\\u{118a2}-\\u{118a4}\\u{118a6}\\u{118a9}\\u{118ac}\\u{118ae}\\u{118af}\\u{118b2}\\u{118b5}\\u{118b8}\\u{118bb}\\u{118bc}\\u{118c0}-\\u{118c4}\\u{118c6}\\u{118c8}\\u{118ca}\\u{118cc}\\u{118d5}-\\u{118d8}\\u{118dc}',
].join('')
const lookAlikeWord = new RegExp(`^[${letters}\\p{N}]+$`, 'u')

/**
 * Whether a text has a word all of whose letters look like Latin letters or digits, and none is one. A single letter counts where
 * every other word of the text is such a word too, or Latin: in a sentence it is a word of that language.
 */
export const hasLookAlikeWord = (text: string): boolean => {
  const words = text
    // A letter with an accent looks like the same Latin letter with the accent.
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => /(?!\p{Script=Latin})\p{L}/u.test(word))
  const found = words.filter((word) => lookAlikeWord.test(word))
  return (
    found.some((word) => Array.from(word).length > 1) || (found.length > 0 && found.length === words.length)
  )
}

/** Latin letters of phonetic alphabets that look like those of a to z. */
const phonetic =
  '\\u0251\\u0261\\u0269\\u026a\\u026f\\u0280\\u028f\\u0299\\u0262\\u029c\\u029f\\u0274\\u1d00-\\u1d22\\ua730\\ua731\\uab30-\\uab5a\\u01a7\\u01a8\\u01bc\\u01bd\\u0196\\u01c0'
/** Marks that strike a letter out or enclose it, and more marks than any script puts on a letter, which cover other lines. */
const markedLetter = new RegExp(
  `[${phonetic}]|[\\u0334-\\u0338\\u20d2\\u20d3\\u20d8-\\u20da\\u20e5-\\u20eb\\u{1f1e6}-\\u{1f1ff}\\p{Me}]|\\p{M}{4}`,
  'u',
)

// Between letters, an apostrophe, a middle dot and a long dash are usual; between digits nothing but ASCII is.
const inText = '\\u00b7\\u02bb\\u02bc\\u2014\\u2015\\u2018\\u2019'
const separators = [
  // Like ' and "
  '\\u00b4\\u02b9\\u02ba\\u02bd\\u02be\\u02c8\\u02ca\\u02cb\\u02dd\\u02ee\\u02f4\\u02f6\\u0384\\u055a\\u055d\\u05f3\\u05f4\\u1fbd\\u1fbf\\u1fef\\u1ffd\\u1ffe\\u201b-\\u201d\\u201f\\u2032\\u2033\\u2035\\u2036\\u3003\\ua78b\\ua78c\\uff02\\uff07\\uff40',
  // Like . and , and : and ;
  '\\u00b8\\u060c\\u060d\\u066b\\u066c\\u0660\\u06f0\\u201a\\u2024\\u2027\\u2022\\u2219\\u22c5\\u2e31\\u30fb\\ua4f8\\ua4f9\\ua60e\\uff0c\\uff0e\\uff65\\ufe50\\ufe52\\u3001\\u3002',
  '\\u02d0\\u02f8\\u0589\\u05c3\\u1361\\u16ec\\u1803\\u1809\\u205a\\u2236\\u037e\\u0387\\ua4fd\\ua789\\ufe30\\ufe54\\ufe55\\uff1a\\uff1b',
  // Like - and / and \
  '\\u02d7\\u05be\\u06d4\\u2010-\\u2013\\u2043\\u2212\\u2796\\u2cba\\ufe58\\ufe63\\uff0d',
  '\\u1735\\u2041\\u2044\\u2215\\u2216\\u2571\\u27cb\\u27cd\\u29f5\\u29f8\\u29f9\\u2afb\\u2afd\\ufe68\\uff0f\\uff3c',
  // Like @ and _ and ~ and * and + and = and the others
  '\\u02c2-\\u02c4\\u02c6\\u02dc\\u2039\\u203a\\u203c\\u204e\\u2053\\u2217\\u223c\\u2768-\\u2775\\u2795\\u2e40\\u30a0\\ua4ff\\ufe4d-\\ufe4f\\ufe59-\\ufe62\\ufe64-\\ufe66\\ufe69-\\ufe6b\\uff01\\uff03-\\uff06\\uff08-\\uff0b\\uff1c-\\uff20\\uff3b\\uff3d-\\uff3f\\uff5b-\\uff5e',
].join('')
const lookAlikeSeparator = new RegExp(
  `(?<=[\\p{Script=Latin}\\p{N}])[${separators}](?=[\\p{Script=Latin}\\p{N}])` +
    `|(?<=\\p{N})[${inText}](?=\\p{N})` +
    // A sign before a number is part of it.
    '|[\\u02d7\\u2010-\\u2013\\u2212\\u2795\\u2796\\ufe62\\ufe63\\uff0b\\uff0d](?=\\p{N})',
  'u',
)

/** Whether a text has a separator within a number, a name or an address that looks like one of ASCII, or a letter under a disguise. */
export const hasLookAlikeCharacter = (text: string): boolean =>
  lookAlikeSeparator.test(text) || markedLetter.test(text)
