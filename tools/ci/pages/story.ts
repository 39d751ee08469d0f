import {
  answers,
  doors,
  neverLive,
  operators,
  proves,
  provesNot,
  reasons,
  sentence,
  type Door,
} from '../../../packages/protocol/src/discovery/story.ts'
import { readForgingFile } from '../../../packages/server/src/credentials/forging/prices.ts'
import { readBranding } from '../../../packages/server/src/website/branding.ts'
import { doorPictureFile } from '../../../packages/server/src/website/door-pictures.ts'
import { rootHeads, rootRows } from '../../../packages/server/src/website/roots.ts'
import { paddedTableOf, withGeneratedParts, type GeneratedFile } from './markdown.ts'

const lineLength = 132

/** A paragraph in lines of the length of the other pages. */
const wrap = (text: string, indent = ''): string => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined) lines.push(word)
    else if (line.length + 1 + word.length <= lineLength) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(`${indent}${word}`)
  }
  return lines.join('\n')
}
const listOf = (items: readonly string[]): string => items.map((item) => wrap(`- ${item}`, '  ')).join('\n')

const [beforeQuestion = '', theQuestion = ''] = sentence.split(/(?<=: )/)
const opening = [
  wrap(`${beforeQuestion}**${theQuestion}**`),
  reasons.map((reason) => wrap(reason)).join('\n'),
  wrap(`${answers.forWhom} ${answers.fiveMinutes}`),
  wrap(`${answers.cost} ${answers.limit}`),
].join('\n\n')

const itself = (): string => {
  const forging = readForgingFile('')
  const rows = rootRows(forging).map((row) => [
    row.name,
    `\`${row.level}\``,
    row.acts,
    row.actsOneADay,
    row.humans,
    row.use,
  ])
  return [
    '**A credential proves**',
    listOf(proves),
    wrap(
      `**What a forgery costs today**, by an estimate of ${forging.date}: US dollars for 1,000 views, and for 1,000 people, which are distinct subjects of one agent. [What to require for what](docs/guides/forging.md)`,
    ),
    paddedTableOf(rootHeads, rows),
    '**It does not prove**',
    listOf(provesNot),
    '**Never run live**, with [all limits and bad figures](docs/limits.md)',
    listOf(neverLive),
  ].join('\n\n')
}

const doorOf = ({ name, title, forWhom, value, ...door }: Door): string => {
  const { restsOn, notFor, price, start, guide, example, prints } = door
  return [
    `### ${title}`,
    // The hard break saves a line of each of the 220 that the README may have.
    `![${title}](docs/pictures/${name}.svg)\\\n${wrap(
      `For ${forWhom}. ${value} It rests on ${restsOn} Not for ${notFor} Price: ${price} [Quick start](docs/${start}.md), [guide](docs/${guide}.md).`,
    )}`,
    `\`\`\`sh\n${example}\n\`\`\``,
    `\`\`\`text\n${prints}\n\`\`\``,
  ].join('\n\n')
}

const hubItemOf = ({ title, forWhom, value, start, guide }: Door): string =>
  wrap(`- **[${title}](${start}.md)**, for ${forWhom}. ${value} [Guide](${guide}.md)`, '  ')

/** The parts of the README and of the hub of the documents that quote the story, and its pictures as files. */
export const storyFiles = (): GeneratedFile[] => {
  const { palettes } = readBranding(undefined)
  return [
    withGeneratedParts('README.md', {
      opening,
      itself: itself(),
      doors: doors.map(doorOf).join('\n\n'),
      operators: listOf(operators),
    }),
    withGeneratedParts('docs/README.md', { doors: doors.map(hubItemOf).join('\n') }),
    ...doors.map(({ name }): GeneratedFile => [`docs/pictures/${name}.svg`, doorPictureFile(name, palettes)]),
  ]
}
