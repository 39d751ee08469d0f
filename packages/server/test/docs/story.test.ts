import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { uses } from '../../src/website/uses.ts'
import { startHarness } from '../fixtures/harness.ts'
import { repositoryRoot } from './markdown.ts'

// What a reader who knows nothing learns from the beginning of the README and from the first screen of the landing page.

const answers = [
  {
    question: 'What is it?',
    readme:
      'PoHF signs an answer to two questions about one act: did a person do this, and what would it cost to fake?',
    landing: 'PoHF answers with a signed credential for one act',
  },
  {
    question: 'For whom?',
    readme:
      'It is for teams that run agents, owners of sites, communities, buyers of human work, and publishers.',
    landing: 'It is for teams that run agents, owners of sites, communities and buyers of human work',
  },
  {
    question: 'What do I get in five minutes?',
    readme:
      'In five minutes a clone gives you the service, its pages and a credential that you verified yourself.',
    landing: 'in five minutes you hold a credential that you verified',
  },
  {
    question: 'What can it not do?',
    readme: 'A credential never says who the person is, that they understood, or that their answer is right.',
    landing: 'A credential never says who the person is.',
  },
  {
    question: 'What does it cost to fake?',
    readme: 'At low a script does this for less than a cent: use it to slow floods, not to protect value.',
    landing: 'a script can do it for less than a cent. Use it to slow floods, not to protect value.',
  },
]
const oneLine = (text: string): string => text.replaceAll(/[`*]/g, '').replaceAll(/\s+/g, ' ')

test('the first 1,500 characters of the README answer what a reader asks first', () => {
  const readme = readFileSync(join(repositoryRoot, 'README.md'), 'utf8')
  for (const { question, readme: answer } of answers)
    assert.ok(oneLine(readme.slice(0, 1_500)).includes(answer), question)
  assert.ok(readme.split('\n').length <= 220)
})

test('the first screen of the landing page answers the same', async () => {
  const harness = await startHarness()
  const { text } = await harness.call('GET', '/', { headers: { accept: 'text/html' } })
  const [, hero = ''] = /<div class="hero">([^]*?)<section/.exec(text) ?? []
  const seen = oneLine(hero.replaceAll(/<[^>]*>/g, ''))
  for (const { question, landing: answer } of answers) assert.ok(seen.includes(answer), question)
  assert.ok(Buffer.byteLength(text) <= 60_000)
})

test('the README and the landing page have the same uses, in the same words and order', async () => {
  const readme = oneLine(readFileSync(join(repositoryRoot, 'README.md'), 'utf8'))
  const harness = await startHarness()
  const { text } = await harness.call('GET', '/', { headers: { accept: 'text/html' } })
  const page = oneLine(text.replaceAll(/<[^>]*>/g, ' '))
  assert.equal(uses.length, 5)
  let [inReadme, inPage] = [0, 0]
  for (const { title, text: what, limit, price, guide } of uses) {
    inReadme = readme.indexOf(
      `${title}. ${what} ${limit} [Guide](docs/guides/${guide}.md); ${price}.`,
      inReadme,
    )
    inPage = page.indexOf(`${title} ${what} ${limit}`, inPage)
    assert.ok(inReadme > 0, `README: ${title}`)
    assert.ok(inPage > 0, `landing page: ${title}`)
  }
})

test('what the texts say of low is what the price table says', () => {
  const table = readFileSync(join(repositoryRoot, 'docs/evidence/price.md'), 'utf8')
  const prices = [...table.matchAll(/^\| `network` +\| `low` .*?\$([\d.]+)/gm)].map(([, price]) =>
    Number(price),
  )
  assert.ok(prices.length > 0)
  // Less than a cent for one is less than ten dollars for a thousand.
  for (const price of prices) assert.ok(price < 10, `${price} dollars for a thousand`)
})
