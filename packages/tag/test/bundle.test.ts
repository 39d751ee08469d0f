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
  ['check.js', 14_000],
  ['visit.js', 8_000],
  // The check is in it: 14 KiB in all.
  ['compat.js', 14_336],
  ['task.js', 14_500],
] as const)
  test(`${name} is one plain script of at most ${bytesMax} bytes, gzipped`, (t) => {
    const script = readFileSync(join(folder, name))
    const bytes = gzipSync(script, { level: 9 }).length
    t.diagnostic(`${name}: ${bytes} bytes gzipped`)
    assert.ok(bytes > 1_000 && bytes <= bytesMax, `${bytes} bytes`)
    const text = script.toString()
    assert.doesNotMatch(text, /\beval\(|new Function|innerHTML|document\.cookie|localStorage|sessionStorage/)
    // The check keeps one key after a pass; the others keep nothing.
    assert.equal(text.includes('indexedDB'), name === 'check.js' || name === 'compat.js')
    assert.doesNotMatch(text, /^\s*(import|export)\b/m)
  })

/** `--name: value` in the rule that `pattern` finds. */
const tokensOf = (css: string, pattern: RegExp): Map<string, string> => {
  const [, body = ''] = pattern.exec(css) ?? []
  return new Map(
    [...body.matchAll(/(--[\w-]+):\s*([^;]+);/g)].map(([, name = '', value = '']) => [name, value]),
  )
}

test('the colours of the check are those of the look, light and dark', () => {
  const look = readFileSync(here('../../web/src/shared/design/base.css'), 'utf8')
  const own = readFileSync(here('../src/check.css'), 'utf8')
  const light = tokensOf(look, /^:root \{([^}]*)\}/m)
  const dark = tokensOf(look, /prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}/)
  const tokens = tokensOf(own, /^:host \{([^}]*)\}/m)
  assert.ok(tokens.size >= 10)
  for (const [name, value] of tokens)
    assert.equal(value, `light-dark(${light.get(name)}, ${dark.get(name)})`, name)
})
