import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { doors } from '@pohf/protocol/story'
import { anchorsOf } from '../../server/test/docs/links.ts'
import { builtPages } from '../../server/test/fixtures/processes/built-pages.ts'
import { renderMarkdown } from '../src/markdown.ts'
import { neighboursOf } from '../src/menu.ts'
import { readDocuments } from '../src/documents.ts'

const folder = await builtPages('docs')
const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
const pageAddressOf = (name: string): string =>
  name === 'index.html' ? '/docs' : `/docs/${name.replace(/\.html$/, '')}`
const pages = new Map(
  names
    .filter((name) => name.endsWith('.html'))
    .map((name) => [pageAddressOf(name), readFileSync(join(folder, name), 'utf8')]),
)
const addresses = new Set([...names.map(pageAddressOf), '/', '/openapi.json'])

const idsOf = (page: string): Set<string> =>
  new Set([...page.matchAll(/ (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id))

test('every page has a title, one heading of the first level and each id once', () => {
  assert.ok(pages.size > 300, `${pages.size} pages`)
  for (const [address, page] of pages) {
    assert.match(page, /<title>[^<]{2,} · PoHF documentation<\/title>/, address)
    assert.equal(page.match(/<h1[ >]/g)?.length, 1, `${address}: headings of the first level`)
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)
    assert.equal(new Set(ids).size, ids.length, `${address}: ${ids.join(' ')}`)
  }
})

/** Links of a page that lead to no page, file or heading. */
const deadLinks = (address: string, page: string): string[] =>
  [...page.matchAll(/ (?:href|src)="([^"]+)"/g)].flatMap(([, link = '']) => {
    if (/^(https?|mailto):/.test(link)) return []
    const [path = '', anchor] = link.replaceAll('&amp;', '&').split('#')
    if (path !== '' && !addresses.has(path)) return [`${address}: ${link}`]
    if (anchor === undefined) return []
    return idsOf(path === '' ? page : (pages.get(path) ?? '')).has(decodeURIComponent(anchor))
      ? []
      : [`${address}: ${link}`]
  })

test('no link leads to a page, a file or a heading that does not exist', () => {
  assert.deepEqual(
    [...pages].flatMap(([address, page]) => deadLinks(address, page)),
    [],
  )
  assert.deepEqual(deadLinks('/docs/x', '<a href="/docs/nowhere"><a href="#no"><a href="/docs#content">'), [
    '/docs/x: /docs/nowhere',
    '/docs/x: #no',
  ])
})

test('no page has a script, a style or a handler inside, or loads anything of another host', () => {
  for (const [address, page] of pages) {
    const text = page.replaceAll(/<pre[\s\S]*?<\/pre>/g, '')
    assert.deepEqual(
      text.match(/ (?:style|on[a-z]+)="|<style|<script(?! type="module" src="\/docs\/)/g),
      null,
      address,
    )
    assert.deepEqual(
      text.match(/<(?:img|script|link|iframe|object|embed)[^>]+(?:src|href)="(?:https?:)?\/\//g),
      null,
      address,
    )
  }
})

const sizeOf = (name: string): number => gzipSync(readFileSync(join(folder, name))).length

test('pages, scripts, styles and the index of the search stay small', (t) => {
  const largest = [...pages.keys()]
    .map((address) => [address, gzipSync(pages.get(address) ?? '').length] as const)
    .toSorted(([, a], [, b]) => b - a)[0]
  const assets = names.filter((name) => name.startsWith('assets/'))
  const total = (ending: RegExp) =>
    assets.filter((name) => ending.test(name)).reduce((sum, name) => sum + sizeOf(name), 0)
  t.diagnostic(
    `${pages.size} pages; largest ${largest?.join(' ')}; scripts ${total(/js$/)}, style ${total(/css$/)}, index ${total(/json$/)} bytes with gzip`,
  )
  assert.ok((largest?.[1] ?? Infinity) <= 40_000)
  assert.ok(total(/js$/) <= 12_000 && total(/css$/) <= 5_000 && total(/json$/) <= 340_000)
})

test('headings have the anchors of GitHub, so links work in both places', () => {
  for (const { path, markdown } of readDocuments()) {
    const { headings } = renderMarkdown(markdown, path, () => '/docs')
    const expected = anchorsOf(markdown)
    for (const { anchor } of headings) assert.ok(expected.has(anchor), `${path}: ${anchor}`)
  }
})

const render = (text: string): string =>
  renderMarkdown(text, 'docs/guides/a.md', (path) => (path === 'docs/b.md' ? '/docs/b' : undefined)).html

test('links become addresses, and a file that the site does not have becomes text', () => {
  assert.match(render('[b](../b.md#part)'), /<a href="\/docs\/b#part">b<\/a>/)
  assert.match(render('[c](../../deploy/c.yml)'), /<span class="file" title="deploy\/c.yml">c<\/span>/)
  assert.match(render('[d](https://example.com)'), /<a href="https:\/\/example.com">d<\/a>/)
  assert.throws(() => render('Send <your key>.'), /docs\/guides\/a.md: <your key> is not shown/)
  assert.match(render('| a |\n| --: |\n| 1 |'), /<td class="num">1<\/td>/)
})

/** The addresses that the content of a page leads to. */
const linksIn = (page: string): string[] => {
  const article = /<article>([^]*)<\/article>/.exec(page)?.[1] ?? ''
  return [...article.matchAll(/<li>[^]*?<a href="([^"]+)"/g)].map(([, link = '']) => link)
}

test('the hub has the ways in of the story, four roles and the search, and nothing else', () => {
  const hub = pages.get('/docs') ?? ''
  const roles = ['quickstart/operator', 'quickstart/auditor', 'quickstart/worker', 'project/contributing']
  assert.deepEqual(
    linksIn(hub),
    [...doors.map(({ start }) => start.replace(/\/README$/, '')), ...roles].map((page) => `/docs/${page}`),
  )
  assert.equal(hub.match(/<button[^>]* data-opens-search/g)?.length, 2)
  assert.doesNotMatch(hub, /id="menu"|class="pager"|class="contents"/)
  assert.match(pages.get('/docs/glossary') ?? '', /id="menu"/)
})

test('previous and next follow the menu, and decisions follow their names', () => {
  const documents = readDocuments()
  assert.deepEqual(neighboursOf('docs/glossary.md', documents), [
    'docs/quickstart/README.md',
    'docs/limits.md',
  ])
  assert.deepEqual(neighboursOf('docs/README.md', documents), [undefined, 'docs/quickstart/README.md'])
  const page = 'docs/decisions/ledger.md'
  const pages = documents.map(({ path }) => path).filter((path) => path.startsWith('docs/decisions/'))
  const [previous, next] = neighboursOf(page, documents)
  const index = pages.indexOf(page)
  assert.deepEqual([previous, next], [pages[index - 1], pages[index + 1]])
})
