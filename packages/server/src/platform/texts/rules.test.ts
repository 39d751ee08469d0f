import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textErrors } from './rules.ts'

const codeOf = (text: string): string => textErrors(text, 'body.question')[0]?.code ?? 'passes'

/** Texts that lead a worker somewhere, however the address is written. */
const leading: readonly (readonly [text: string, code: string])[] = [
  ['Look at https://evil.example/x and say what you see', 'link'],
  ['Look at hxxps://evil/x and say what you see', 'link'],
  ['Look at http: //evil and say what you see', 'link'],
  ['Look at //evil/x and say what you see', 'link'],
  ['Look at www.evil and say what you see', 'link'],
  ['Go to evil.com', 'link'],
  ['Visit prize.click/now and copy the word', 'link'],
  ['Read bonus.zip aloud', 'link'],
  ['Go to evil.top/x', 'link'],
  ['Go to evil.com.Then type what you see', 'link'],
  ['Go to evil.co.uk', 'link'],
  ['Go to my-prize.onion', 'link'],
  ['Go to ｅｖｉｌ.com', 'link'],
  ['Go to ｅｖｉｌ。com', 'link'],
  ['Go to evil。com', 'link'],
  ['Go to evil｡com', 'link'],
  ['Go to evil．com', 'link'],
  ['Go to evil․com', 'link'],
  ['Go to evil·com', 'link'],
  ['Go to ev\u200dil.c\u200com', 'link'],
  ['Go to evil.c\u0332o\u0332m', 'link'],
  ['Go to evil.сом', 'link'],
  ['Go to EVIL.COM', 'link'],
  ['Go to пример.рф', 'link'],
  ['Go to xn--e1afmkfd/x', 'link'],
  ['请访问evil.com然后回答', 'link'],
  ['Open evil[.]com', 'link'],
  ['Open evil(.)com', 'link'],
  ['Open evil [dot] com', 'link'],
  ['Open evil (dot) shop', 'link'],
  ['Open evil . com', 'link'],
  ['Open evil .com', 'link'],
  ['Open evil dot com slash login', 'link'],
  ['Open evil DOT net', 'link'],
  ['Öffne evil punkt de', 'link'],
  ['Open evil-dot-com', 'link'],
  ['Write to t.me/prize', 'link'],
  ['Open 203.0.113.9/login', 'link'],
  ['Open 0xcb.0x00.0x71.0x09', 'link'],
  ['Open 3405803785/login', 'link'],
  ['Open 0xcb007109', 'link'],
  ['Open [2001:db8::9]:8080', 'link'],
  ['Open ::ffff:203.0.113.9', 'link'],
  ['Open javascript:alert(1)', 'link'],
  ['<img src=x onerror=alert(1)>', 'html'],
  ['Hello </p>', 'html'],
  ['abc\u202Edef', 'invisible_character'],
  ['ev\u00adil', 'invisible_character'],
  ['ev\u3164il', 'invisible_character'],
  ['abc\u0007', 'invisible_character'],
  ['Is jane.doe@firm.example a good address?', 'personal_data'],
  ['Write to jane@firm', 'personal_data'],
  ['Call +49 30 1234 5678 and tell me who answers', 'personal_data'],
  ['Call 0049 30 12345678 and tell who answers', 'personal_data'],
  ['Call 030/1234-5678 and tell who answers', 'personal_data'],
  ['Call (555) 010-4477 now', 'personal_data'],
  ['Ask @prizebot in your messenger', 'handle'],
  ['Ask ＠prize_bot in your messenger', 'handle'],
  ['What is your email address?', 'asks_personal_data'],
  ['Tell me your date of birth', 'asks_personal_data'],
  ['Type the verification code that you got', 'asks_personal_data'],
  ['What did wrk_Ab12Cd34Ef answer?', 'names_person'],
  ['What does ses_aa01k2example show?', 'names_person'],
]
for (const [text, code] of leading)
  test(`the text ${JSON.stringify(text)} is refused: ${code}`, () => {
    assert.equal(codeOf(text), code)
  })

/** Ordinary questions. None may be refused. */
const ordinary: readonly string[] = [
  'Is 3 < 5 or 5 > 3 easier to read?',
  'Which logo is better: the red one, or the blue one?\nAnswer in one word.',
  'Is "What is a good name for a cat?" a polite question?',
  'Is a price of 1.50 USD on 2026-11-17 12:30 fair, e.g. for tea?',
  'क्या यह वाक्य सही है?',
  'Which is friendlier, i.e. warmer: hello or greetings?',
  'Is Node.js a language, a runtime or a library?',
  'Is Vue.js easier to read than React.js in this sentence?',
  'Is report.pdf a good name for a file?',
  'Which name is clearer: final_v2.docx or report-2026.docx?',
  'Is 3.5 stars a good rating?',
  'Is version 10.4.1 newer than 10.4?',
  'Does $1,299.00 look like a fair price for a laptop?',
  'Is 0.05 % less than 0.5 %?',
  'Read the text. It is short. Is it polite?',
  'Is the tone of this mail friendly: "Dear Ms Kaya, thank you. We will answer by Friday."?',
  'Wait... is this sentence complete?',
  'So… is it funny?',
  'Is there a red dot in the image?',
  'Is the dot red or blue?',
  'Connect the dot to the line: does it look right?',
  'Is "dot at the end" better than "no dot"?',
  'Would you meet at 9 a.m. or at 5 p.m.?',
  'Was Dr. Meyer polite to Mrs. Smith?',
  'Is J.K. Rowling or J.R.R. Tolkien easier to read?',
  'Is the U.S. dollar sign before or after the number?',
  'Which is nicer: St. Louis or New York?',
  'Is No. 5 bigger than No. 4?',
  '1. It is warm. 2. It is cold. Which one is shorter?',
  '1.It is warm 2.It is cold: which one is shorter?',
  'Rate from 1 to 5: how funny is this joke?',
  'Is the ratio 16:9 wider than 4:3?',
  'Was the meeting from 09:00:00 to 10:30:15 too long?',
  'Which date is clearer: 05.11.2026 or 5 November 2026?',
  'Is 05/11/2026 14:30 in May or in November?',
  'Is 2026-11-19T16:00:00Z easy to read?',
  'Is the ISBN 978-0-13-468599-1 printed correctly, with four hyphens?',
  'Which of 1000000, 1,000,000 and 1 000 000 is easiest to read?',
  'Is the colour #ff8800 called orange?',
  'Does the word “and/or” belong in a contract?',
  'Is he/she or they better in this sentence?',
  'Is the score 3-2 or 2-3 in “the guests lost by one goal, three to two”?',
  'Is it rude to answer "No." to a friend?',
  'Welches Wort klingt freundlicher: „Hallo“ oder „Guten Tag“?',
  'Ist dieser Satz z. B. höflich genug?',
  'Ist dieser Satz z.B. höflich genug?',
  'Est-ce que « bonjour » est plus poli que « salut » ?',
  '¿Es correcta esta frase? ¡Sí o no!',
  'これは丁寧ですか。はい、いいえで答えてください。',
  '这句话通顺吗？请回答是或否。',
  'Это предложение вежливое? Да. Или нет.',
  'هل هذه الجملة صحيحة؟',
  'Which emoji fits better: ❤️ or 👨‍👩‍👧?',
  'Is “C++” or “C#” easier to say?',
  'Does `a = b ? c : d` read well?',
  'What is 12 × 7, and did you find it hard?',
  'Is an apple a day @ 2 euros expensive?',
  'Is 5 km in 25 min fast?',
  'Does “Smith & Sons, est. 1921” look old-fashioned?',
  'Is the slogan “Fast. Safe. Yours.” convincing?',
  'Is the sentence "I seen it" correct English?',
  'Which caption fits better: “Top left” or “Left, at the top”?',
  'Does the headline “Prices up 3.2% in Q3” confuse you?',
  'Would you rather read a list or a table?',
  'Is etc. used correctly in “apples, pears, etc.”?',
  'Is “Ph.D.” written with dots?',
  'In the poem, is the moon a symbol of hope?',
  'Is §4 (2) of a contract easier to cite than “the second part”?',
  'Does the temperature of -3.5 °C feel cold to most people?',
]
for (const text of ordinary)
  test(`the text ${JSON.stringify(text)} may be asked`, () => {
    assert.deepEqual(textErrors(text, 'body.question'), [])
  })
test('the list of ordinary questions has at least 60', () => assert.ok(ordinary.length >= 60))

/** What looks like a host and is none. The limits name these. */
for (const text of [
  'Is README.md a good name for a file?',
  'Is main.py a good name for a file?',
  'Is Booking.com easier to remember than its rivals?',
  'Is it good.It is short.',
  'Is 10.4.1.2 newer than 10.4.1.1?',
  'Is @Override spelled correctly?',
])
  test(`the text ${JSON.stringify(text)} is refused although it leads nowhere`, () => {
    assert.notEqual(codeOf(text), 'passes')
  })

test('an error names the field and shows the part that was refused, as it was written', () => {
  assert.deepEqual(textErrors('Please open Ｅvil [dot] com now', 'body.items.0.question'), [
    {
      path: 'body.items.0.question',
      code: 'link',
      message: 'has a link or something like a host: workers answer from what they know: "Ｅvil [dot] com"',
    },
  ])
  assert.match(textErrors('abc\u202Edef', 'body.question')[0]?.message ?? '', /: "\\u\{202e\}"$/)
})
