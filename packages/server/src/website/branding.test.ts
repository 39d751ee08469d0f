import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startHarness } from '../../test/fixtures/harness.ts'
import { ConfigFaults } from '../platform/ops/config.ts'
import { readBranding } from './branding.ts'
import { contrastFaults, contrastOf, linesOfJson } from './rules.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-branding-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'branding.json')
const write = (text: string): string => (writeFileSync(file, text), file)
const accept = 'text/html'
const main = fileURLToPath(new URL('../main.ts', import.meta.url))

/** The faults of a file with this text. */
const faultsOf = (text: string): readonly string[] => {
  try {
    readBranding(write(text))
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigFaults, String(error))
    return error.faults
  }
}

test('name, texts, links and colours are those of the file, on every page and on error pages', async () => {
  write(
    JSON.stringify({
      name: 'Human Ltd',
      headline: 'A person was here.',
      lead: 'We check.',
      footer: 'Operated by Human Ltd.',
      links: [{ label: 'Imprint', url: 'https://human.example/imprint' }],
      colours: { light: { seal: '#5b2a86' }, dark: { seal: '#c9a2f0' } },
    }),
  )
  const harness = await startHarness({ BRANDING_FILE: file })
  const read = (path: string) => harness.call('GET', path, { headers: { accept } })
  const landing = (await read('/')).text
  for (const text of [
    'A person was here.',
    'We check.',
    'Operated by Human Ltd.',
    'https://human.example/imprint',
  ])
    assert.ok(landing.includes(text), text)
  for (const path of ['/', '/pricing', '/status', '/no-such-page']) {
    const { text } = await read(path)
    assert.match(text, /<title>[^<]*Human Ltd/)
    assert.ok(text.includes('--seal:#5b2a86') && text.includes('--seal:#c9a2f0'), path)
    assert.doesNotMatch(text, />PoHF</)
  }
  assert.match((await harness.call('GET', '/favicon.svg')).text, /#5b2a86[\s\S]*#c9a2f0/)
  // Our own picture shows our own name.
  assert.doesNotMatch(landing, /og:image/)
  assert.equal((await read('/assets/card.png')).status, 404)
})

test('texts of the file are escaped', async () => {
  const text = '"><script>alert(1)</script><b>'
  write(JSON.stringify({ name: text, headline: text, lead: text, footer: text, description: text }))
  const harness = await startHarness({ BRANDING_FILE: file })
  for (const path of ['/', '/pricing', '/no-such-page']) {
    const page = await harness.call('GET', path, { headers: { accept } })
    assert.doesNotMatch(page.text, /<script>|<b>"|alert\(1\)<\/script>/, path)
    assert.match(page.text, /&lt;script&gt;/)
  }
})

test('a wrong file refuses the start and names the line at fault', () => {
  const cases: readonly (readonly [text: string, fault: RegExp])[] = [
    ['{\n  "name": "A",\n  "nmae": "B"\n}', /line 3: nmae is not a known field/],
    ['{\n  "name": "A",\n}', /line 3: is not JSON/],
    [
      '{\n  "colours": {\n    "light": {\n      "ink": "black"\n    }\n  }\n}',
      /line 4: colours\.light\.ink must be a colour/,
    ],
    [
      '{\n  "colours": {\n    "light": {\n\n      "inc": "#000000"\n    }\n  }\n}',
      /line [345]: colours\.light/,
    ],
    [
      '{\n  "colours": { "dark": {\n    "ink-2": "#333333" } }\n}',
      /line 3: colours\.dark\.ink-2 ink-2 on paper has a contrast of 1\.\d\d; 4\.5/,
    ],
    [
      '{"links": [{"label": "x", "url": "https://a.example"},\n {"label": "y",\n "url": "javascript:alert(1)"}]}',
      /line 3: links\.1\.url must be/,
    ],
    ['{\n"socialCard": "missing.png"}', /line 2: socialCard names a file that is not readable/],
    ['[]', /line 1: the file/],
  ]
  for (const [text, fault] of cases) assert.match(faultsOf(text)[0] ?? 'no fault', fault, text)
  assert.match(faultsOf(' '.repeat(70_000))[0] ?? '', /more than 65536 bytes/)
  assert.throws(() => readBranding(join(folder, 'none.json')), /not readable \(ENOENT\)/)
  write('{"name": ""}')
  for (const role of [[], ['api']]) {
    const { status, stderr } = spawnSync(process.execPath, [main, ...role], {
      encoding: 'utf8',
      env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', DATA_DIR: folder, BRANDING_FILE: file },
    })
    assert.equal(status, 1)
    assert.match(stderr, /BRANDING_FILE line 1: name/)
  }
})

test('our own colours pass the check of contrast, and black on white has 21', () => {
  const { palettes } = readBranding(undefined)
  assert.deepEqual(contrastFaults(palettes.light), [])
  assert.deepEqual(contrastFaults(palettes.dark), [])
  assert.equal(contrastOf('#000000', '#ffffff'), 21)
  assert.ok(Math.abs(contrastOf('#777777', '#ffffff') - 4.48) < 0.01)
})

test('the line of a value is found by its path, whatever its strings contain', () => {
  const lines = linesOfJson('{\n"a": "x: {\\"\\n",\n"b": [\n{"c": 1},\n{"c": ","}\n],\n"d": {}\n}')
  assert.deepEqual(
    ['a', 'b', 'b.0.c', 'b.1.c', 'd'].map((path) => lines.get(path)),
    [2, 3, 4, 5, 7],
  )
})
