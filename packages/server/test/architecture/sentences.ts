import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot, type Source } from './vocabulary.ts'

const listPath = 'packages/server/test/architecture/rejected-sentences.txt'

/** Sentences that were replaced, one per line: no text of the repository may contain one. */
export const readRejectedSentences = (): string[] =>
  readFileSync(join(repositoryRoot, listPath), 'utf8').trimEnd().split('\n')

/** Every file that git knows, except the list itself. Of a picture nothing reads as a sentence. */
export const readTexts = (): Source[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: repositoryRoot,
    encoding: 'utf8',
    maxBuffer: 16_777_216,
  })
    .split('\n')
    .filter((path) => path !== '' && path !== listPath)
    .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), 'utf8') }))

/** Words only, in lower case: line breaks, comment marks, table cells and quotes do not hide a sentence. */
const normalizedText = (text: string): string =>
  ` ${
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(' ') ?? ''
  } `

/** Where a rejected sentence is found. */
export const findSentences = (texts: readonly Source[], sentences: readonly string[]): string[] => {
  const rejected = sentences.map((sentence) => ({ sentence, words: normalizedText(sentence) }))
  return texts.flatMap(({ path, text }) => {
    const words = normalizedText(text)
    return rejected
      .filter((candidate) => words.includes(candidate.words))
      .map(({ sentence }) => `${path}: ${sentence}`)
  })
}
