import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, type GeneratedFile } from './markdown.ts'

const source = 'docs/evidence/motion.md'
const cells = (line: string): string[] => line.split('|').map((cell) => cell.trim())

/** `22.6 % (19.6–25.8)` as three numbers. */
const intervalOf = (text: string): readonly [number, number, number] => {
  const found = /^([\d.]+) % \(([\d.]+)–([\d.]+)\)$/.exec(text)
  if (!found) throw new Error(`${source}: "${text}" is no rate with an interval`)
  return [Number(found[1]), Number(found[2]), Number(found[3])]
}

const rowOf = (line: string, seconds: number) => {
  const [, family = '', windows = '', , equalErrorText = ''] = cells(line)
  const [equalError, low, high] = intervalOf(equalErrorText)
  return {
    family: family.replaceAll('*', ''),
    seconds,
    isHumanMotion: family.startsWith('**'),
    peopleWindows: Number(windows.split('/')[1]),
    equalError,
    low,
    high,
  }
}

/** The table of families, which the evaluation of the motion model writes, as data for the landing page. */
const readRates = () => {
  const page = readFileSync(join(root, source), 'utf8')
  const [, part = ''] = page.split('<!-- evidence:families -->')
  const [, ...lengths] = (part.split('<!-- /evidence:families -->')[0] ?? '').split('\n### ')
  const rates = lengths.flatMap((text) => {
    const seconds = Number.parseInt(text, 10)
    const [, , ...lines] = text.split('\n').filter((line) => line.startsWith('|'))
    return lines.map((line) => rowOf(line, seconds))
  })
  if (rates.length < 10) throw new Error(`${source} has only ${rates.length} rates`)
  return { source, rates }
}

export const errorRateFiles = (): GeneratedFile[] => [
  ['packages/server/src/website/error-rates.json', `${JSON.stringify(readRates(), null, 2)}\n`],
]
