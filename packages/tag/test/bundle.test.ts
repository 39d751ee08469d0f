import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'pohf-bundle-'))
after(() => rmSync(folder, { recursive: true, force: true }))
execFileSync(process.execPath, [here('../build.ts'), folder])

for (const [name, bytesMax] of [
  ['tag.js', 8_000],
  ['check.js', 12_000],
] as const)
  test(`${name} is one plain script of at most ${bytesMax} bytes, gzipped`, (t) => {
    const script = readFileSync(join(folder, name))
    const bytes = gzipSync(script, { level: 9 }).length
    t.diagnostic(`${name}: ${bytes} bytes gzipped`)
    assert.ok(bytes > 1_000 && bytes <= bytesMax, `${bytes} bytes`)
    const text = script.toString()
    assert.doesNotMatch(
      text,
      /\beval\(|new Function|innerHTML|document\.cookie|localStorage|sessionStorage|indexedDB/,
    )
    assert.doesNotMatch(text, /^\s*(import|export)\b/m)
  })

/** `--name: value` in the rules that `pattern` finds, the first rule that says it. */
const tokensOf = (css: string, pattern: RegExp): Map<string, string> => {
  const [, body = ''] = pattern.exec(css) ?? []
  return new Map(
    [...body.matchAll(/(--[\w-]+):\s*([^;]+);/g)].map(([, name = '', value = '']) => [name, value]),
  )
}

test('the colours and fonts of the check are those of the look, light and dark', () => {
  const look = readFileSync(here('../../web/src/shared/design/base.css'), 'utf8')
  const own = readFileSync(here('../src/check.css'), 'utf8')
  const light = tokensOf(look, /^:root \{([^}]*)\}/m)
  const dark = tokensOf(look, /prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}/)
  const ownLight = tokensOf(own, /^:host \{([^}]*)\}/m)
  const ownDark = [
    tokensOf(own, /:host\(:not\(\[theme='light'\]\)\) \{([^}]*)\}/),
    tokensOf(own, /:host\(\[theme='dark'\]\) \{([^}]*)\}/),
  ]
  assert.ok(ownLight.size >= 12)
  for (const [name, value] of ownLight) if (name !== '--shade') assert.equal(value, light.get(name), name)
  for (const tokens of ownDark) {
    assert.ok(tokens.size >= 12)
    for (const [name, value] of tokens) if (name !== '--shade') assert.equal(value, dark.get(name), name)
  }
})
