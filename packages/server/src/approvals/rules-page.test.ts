import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const folder = new URL('./', import.meta.url).pathname
const guide = readFileSync(new URL('../../../../docs/guides/approvals.md', import.meta.url), 'utf8')

/** The codes of the table of rules, by their error. */
const documented = (error: string): Set<string> =>
  new Set(
    [...guide.matchAll(/^\| `(\w+)` +\| ((?:`\w+`(?:, )?)+) +\|/gm)]
      .filter(([, named]) => named === error)
      .flatMap(([, , codes = '']) => [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => code)),
  )

/** The codes that the sources of the module refuse with. */
const used = (call: RegExp): Set<string> =>
  new Set(
    globSync('**/*.ts', { cwd: folder })
      .filter((path) => !path.endsWith('.test.ts'))
      .flatMap((path) =>
        [...readFileSync(`${folder}${path}`, 'utf8').matchAll(call)].map(([, code = '']) => code),
      ),
  )

test('the guide lists every rule of approvals, and no other', () => {
  const text = String.raw`\(\s*(?:'[^']*'|\`[^\`]*\`|[a-z]+),\s*'(\w+)'`
  // Codes of `jsonFault`, which says what no action has.
  const faults = ['number', 'surrogate', 'nul', 'type', 'depth', 'size', 'value_not_permitted']
  const refused = new Set([...used(new RegExp(`approvalRefused${text}`, 'g')), ...faults])
  const conflicts = new Set([
    ...used(new RegExp(`approvalConflict${text}`, 'g')),
    ...used(/\bconflict\('(\w+)'/g),
  ])
  assert.ok(refused.size > 20 && conflicts.size > 10, `${refused.size} and ${conflicts.size} codes`)
  assert.deepEqual([...documented('approval_refused')].toSorted(), [...refused].toSorted())
  assert.deepEqual([...documented('approval_conflict')].toSorted(), [...conflicts].toSorted())
})
