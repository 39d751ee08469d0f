import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { runPage } from '../../packages/server/test/docs/run-page.ts'
import { cases, commandsOf, countCommands, pageUntil, withoutInstallation } from './cases.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (page: string) => readFileSync(join(root, page), 'utf8')

test('a command is what a reader pastes: continued lines, quoted texts and files count once', () => {
  assert.equal(countCommands('npm ci\nnpm run dev\n'), 2)
  assert.equal(countCommands('# In a second terminal\nnode serve.mjs\n'), 1)
  assert.equal(countCommands('curl -s x \\\n  -d \'{\n  "a": 1\n}\' |\n  jq .\necho done\n'), 2)
  assert.equal(countCommands('cat > page.html <<EOF\n<p>\nnot a command\nEOF\nls\n'), 2)
  assert.equal(countCommands("npx pohf verify - < forged.jwt ||\n  echo 'exit code'\n"), 1)
})

test('every case names a block of its page, and the developer needs at most three commands', () => {
  for (const { name, page, lastBlock, limitCommands = Infinity, withInstallation } of cases) {
    const text = pageUntil(withoutInstallation(read(page)), lastBlock)
    const commands = commandsOf(text) + (withInstallation ? 2 : 0)
    assert.ok(text.includes(lastBlock) && !text.includes('npm ci\nnpm run dev'), name)
    assert.ok(commands >= 2 && commands <= limitCommands, `${name}: ${commands} commands`)
  }
  assert.throws(() => pageUntil(read('docs/quickstart/buyer.md'), 'no such text'), /no block has/)
})

test('a page is run up to its result and measured, and nothing behind it runs', async () => {
  const page = '# A\n\n```sh\nsleep 0.2\necho result\n```\n\n```text\nresult\n```\n\n```sh\nexit 1\n```\n'
  const ports = { 3000: 1, 3001: 2, 4000: 3 }
  const { run, times } = await runPage(pageUntil(page, 'echo result'), { ports, timeoutMs: 30_000 })
  assert.equal(run, 1)
  assert.ok((times.at(-1)?.at ?? 0) - (times[0]?.at ?? 0) >= 0.2)
  await assert.rejects(runPage(page, { ports, timeoutMs: 30_000 }), /failed/)
})
