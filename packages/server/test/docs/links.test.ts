import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { anchorsOf, checkLinks } from './links.ts'
import { everyPage, listPages, repositoryRoot } from './markdown.ts'

test('every link between pages leads to a file and a heading', () => {
  const pages = listPages(everyPage)
  const checked = pages.map((path) => checkLinks(path, readFileSync(join(repositoryRoot, path), 'utf8')))
  assert.deepEqual(
    checked.flatMap(({ faults }) => faults),
    [],
  )
  const links = checked.reduce((sum, page) => sum + page.links, 0)
  assert.ok(pages.length > 100 && links > 200, `${pages.length} pages, ${links} links`)
})

test('a dead link is found, and code has no links', () => {
  const page = [
    '# Set `BASE_URL`: why?',
    '[a](nowhere.md) [b](README.md#no-such-heading) [c](#set-base_url-why) ![d](docs/evidence/no.svg)',
    '[e](https://pohf.example) [f](../outside.md) [g](docs/guides/) `[h](code.md)`',
    '```',
    '[i](code.md)',
    '```',
    '[j]: docs/gone.md',
  ].join('\n')
  assert.deepEqual(checkLinks('README.md', page).faults, [
    'README.md:2: no file nowhere.md',
    'README.md:2: no heading README.md#no-such-heading',
    'README.md:2: no file docs/evidence/no.svg',
    'README.md:3: no file ../outside.md',
    'README.md:7: no file docs/gone.md',
  ])
})

test('a heading that repeats gets a number', () => {
  assert.deepEqual(
    [...anchorsOf('## For [whom](a.md)?\n## For whom?\n<a id="x"></a>')],
    ['for-whom', 'for-whom-1', 'x'],
  )
})
