import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freeSealsPerMonth } from '@pohf/protocol'
import {
  answers,
  doorNames,
  doors,
  neverLive,
  operators,
  packageDescriptions,
  proves,
  provesNot,
  rootTexts,
  sentence,
} from '@pohf/protocol/story'
import { publishedPackages, readSourceManifest } from '../../../../tools/packages/catalogue.ts'
import { readForgingFile } from '../../src/credentials/forging/prices.ts'
import { rootRows } from '../../src/website/roots.ts'
import { startHarness } from '../fixtures/harness.ts'
import { repositoryRoot } from './markdown.ts'
import { planPage } from './plan-page.ts'

// What a reader who knows nothing learns from the beginning of the README and from the first screen of the landing page.

const questions: readonly (readonly [question: string, answer: string])[] = [
  ['What is it?', sentence],
  ['For whom?', answers.forWhom],
  ['What do I get in five minutes?', answers.fiveMinutes],
  ['What can it not do?', answers.limit],
  ['What does it cost to fake?', answers.cost],
]
/** As a reader sees it: without marks of code and emphasis, on one line. A heading begins with a capital. */
const asRead = (text: string): string =>
  text.replaceAll(/[`*]/g, '').replaceAll(/\s+/g, ' ').replace('act: Did a person', 'act: did a person')
const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
}
const textOf = (page: string): string =>
  asRead(page.replaceAll(/<[^>]*>/g, '').replaceAll(/&[a-z#\d]+;/g, (name) => entities[name] ?? name))

const readText = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8')
const readme = readText('README.md')
const harness = await startHarness()
const { text: landing } = await harness.call('GET', '/', { headers: { accept: 'text/html' } })

test('each of five questions is answered by one sentence', () => {
  for (const [question, answer] of questions) assert.equal(answer.match(/[.?](?= |$)/g)?.length, 1, question)
})

test('the first 1,500 characters of the README answer what a reader asks first', () => {
  const start = asRead(readme.slice(0, 1_500))
  for (const [question, answer] of questions) assert.ok(start.includes(asRead(answer)), question)
  assert.ok(!asRead(readme.slice(0, 300)).includes(asRead(answers.cost)), 'a shorter start lacks an answer')
  assert.ok(readme.split('\n').length <= 220, `${readme.split('\n').length} lines`)
})

test('the first screen of the landing page answers the same, in the same words', () => {
  const [, hero = ''] = /<div class="hero">([^]*?)<section/.exec(landing) ?? []
  for (const [question, answer] of questions) assert.ok(textOf(hero).includes(asRead(answer)), question)
})

test('each way in has a picture, a price, a limit and an example of at most ten lines, in the same words everywhere', () => {
  assert.deepEqual(
    doors.map(({ name }) => name),
    doorNames,
  )
  const [inReadme, inPage] = [asRead(readme), textOf(landing)]
  let [atReadme, atPage] = [0, 0]
  for (const { name, title, value, restsOn, notFor, price, example, start, guide } of doors) {
    assert.ok(example.split('\n').length <= 10, title)
    const readmeText = `${value} It rests on ${restsOn} Not for ${notFor} Price: ${price}`
    atReadme = inReadme.indexOf(asRead(readmeText), atReadme)
    assert.ok(atReadme > 0, `README: ${title}`)
    assert.ok(readme.includes(`![${title}](docs/pictures/${name}.svg)`) && readme.includes(example), title)
    for (const part of [title, value, restsOn, notFor, price, asRead(example)]) {
      atPage = inPage.indexOf(asRead(part), atPage)
      assert.ok(atPage > 0, `landing page: ${part}`)
    }
    for (const page of [start, guide]) assert.ok(existsSync(join(repositoryRoot, `docs/${page}.md`)), page)
  }
  assert.equal(landing.match(/<svg class="door"/g)?.length, doors.length)
})

test('every example is a block of the README that runs, and its output is compared', () => {
  const ports = { 3000: 3000, 3001: 3001, 4000: 4000 }
  const steps = planPage(readme, ports)
  for (const { title, example, prints } of doors) {
    const step = steps.find(({ code }) => code.includes(example))
    assert.equal(step?.kind, 'run', title)
    assert.equal(step?.expected?.text.trim(), prints.trim(), title)
  }
})

test('what it says about itself and to operators is in the README and on the landing page', () => {
  const pages = [asRead(readme), textOf(landing)]
  for (const line of [...proves, ...provesNot, ...neverLive, ...operators])
    for (const page of pages) assert.ok(page.includes(asRead(line)), line)
})

test('the table of roots is that of the price table, and the sentence about low is true of it', () => {
  const forging = readForgingFile('')
  const rows = rootRows(forging)
  assert.equal(rows.length, rootTexts.length)
  for (const { name, acts, humans } of rows) {
    assert.match(readme, new RegExp(`\\| ${name.replaceAll(/[()]/g, '.')} +\\|`), name)
    assert.ok(landing.includes(`>${acts}<`) && landing.includes(`>${humans}<`), name)
  }
  const low = forging.entries.filter(({ root }) => root === 'network')
  assert.ok(low.length > 0)
  // Less than a cent for one is less than ten dollars for a thousand.
  for (const { kind, actsB } of low) assert.ok(typeof actsB === 'object' && actsB.usd < 10, kind)
})

test('the manifest, llms.txt, the help and the packages quote the story', async () => {
  assert.equal((await harness.call('GET', '/api/agents/discovery')).json.summary, sentence)
  assert.ok((await harness.call('GET', '/llms.txt')).text.includes(`> ${sentence}\n`))
  assert.ok(asRead(readText('docs/reference/cli.md')).includes(sentence))
  assert.ok(asRead(readText('docs/README.md')).includes(asRead(doors[0]?.value ?? 'none')))
  for (const published of publishedPackages)
    assert.equal(readSourceManifest(published).description, packageDescriptions[published.folder])
  assert.ok(doors[1]?.price.includes(freeSealsPerMonth.toLocaleString('en')))
})
