import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { blocksOf, repositoryRoot } from './markdown.ts'
import { runPage } from './run-page.ts'

const ports = { 3000: 1, 3001: 2, 4000: 3 }
const fenced = (...blocks: readonly (readonly [info: string, code: string])[]): string =>
  blocks.map(([info, code]) => `Text.\n\n\`\`\`${info}\n${code}\n\`\`\`\n`).join('\n')
const runBlocks = (...blocks: readonly (readonly [info: string, code: string])[]) =>
  runPage(fenced(...blocks), { ports, timeoutMs: 30_000 })

test('the blocks of a page run in order, in one shell and one folder', async () => {
  const { times, ...result } = await runBlocks(
    ['sh', 'NAME=Ada\necho one > file.txt'],
    ['ts', "// hello.ts\nconst name: string = process.argv[2] ?? ''\nconsole.log(`Hello ${name}`)"],
    ['sh', 'cat file.txt\nnode hello.ts "$NAME"'],
    ['text', 'Hello A…'],
    ['json', '{ "not": "run" }'],
    ['sh no-run', 'exit 1'],
  )
  assert.deepEqual(result, { run: 2, saved: 1, notRun: 1 })
  assert.deepEqual(
    times.map(({ line }) => line),
    [3, 18, undefined],
  )
})

test('a block that fails, uses an unset variable or has a placeholder is a fault with its line', async () => {
  await assert.rejects(runBlocks(['sh', 'true'], ['sh', 'echo before\nfalse\necho after']), (error) => {
    assert.ok(error instanceof Error)
    assert.match(error.message, /^line 9: failed\nbefore\n/)
    return !error.message.includes('after')
  })
  await assert.rejects(runBlocks(['sh', 'echo "$TOKEN"']), /TOKEN: unbound variable/)
  await assert.rejects(runBlocks(['sh', 'curl {base_url}/x']), /line 3: \{base_url\} is a placeholder/)
  await assert.rejects(runBlocks(['sh', 'echo svc_test_…']), /line 3: svc_test_… is a placeholder/)
  await assert.rejects(runBlocks(['sh', 'pohf --help']), /pohf: command not found/)
  await assert.rejects(runBlocks(['ts', 'console.log(1)']), /does not name the file/)
  await assert.rejects(runBlocks(['ts', '// a.ts\nconsole.log(1)']), /no later block runs a\.ts/)
  await assert.rejects(runBlocks(['', 'ls']), /unknown language ""/)
})

test('an output other than the page shows is a fault', async () => {
  await runBlocks(['sh', `echo '{"id":"whk_1","more":1}'`], ['json', '{ "id": "whk_…" }'])
  const indented = `echo '{"a":1}' | jq .\necho '{"id":"whk_1"}' | jq .`
  await runBlocks(['sh', indented], ['json', '{ "id": "whk_…" }'])
  await assert.rejects(runBlocks(['sh', indented], ['json', '{ "id": "agt_…" }']), /\$\.id/)
  await assert.rejects(
    runBlocks(['sh', `echo '{"id":"agt_1"}'`], ['json', '{ "id": "whk_…" }']),
    /the page shows what was not printed: \$\.id/,
  )
  await assert.rejects(runBlocks(['sh', 'echo one'], ['text', 'two']), /not printed: two/)
})

test('a block of a second terminal runs in the background, with nothing of the first shell', async () => {
  const echo = [
    'mjs',
    "// serve.mjs\nconsole.log('ready', process.env.NAME)\nsetTimeout(() => {}, 60_000)",
  ] as const
  const terminal = ['sh', '# In a second terminal\nnode serve.mjs'] as const
  const { run, saved } = await runBlocks(['sh', 'export NAME=Ada'], echo, terminal, [
    'text',
    'ready undefined',
  ])
  assert.deepEqual([run, saved], [2, 1])
  // The first shell waits for the second, whose exit code would otherwise come after the page's end.
  await assert.rejects(
    runBlocks(['sh', '# In a second terminal\necho no\nexit 3'], ['sh', 'wait']),
    /ended with 3:\nno/,
  )
})

test('an HTTP error fails a block unless a comment announces it', async () => {
  const server = await import('node:http').then(({ createServer }) =>
    createServer((_, response) => response.writeHead(409).end('{"error":"x"}')).listen(0, '127.0.0.1'),
  )
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  const here = { ...ports, 3000: address !== null && typeof address === 'object' ? address.port : 0 }
  const run = (code: string) => runPage(fenced(['sh', code]), { ports: here })
  try {
    await assert.rejects(run('curl -s http://127.0.0.1:3000/'), /returned error: 409/)
    await run('curl -s http://127.0.0.1:3000/ # answers 409')
    const twice = 'curl -s http://127.0.0.1:3000/\ncurl -s http://127.0.0.1:3000/ # answers 409'
    await runPage(fenced(['sh', twice], ['json', '{"error":"x"}']), { ports: here })
    await assert.rejects(run('curl -s http://127.0.0.1:3000/ # answers 402'), /returned error: 409/)
    await assert.rejects(run('true # answers 409'), /no call answered 409/)
  } finally {
    server.close()
  }
})

test('a page that hangs is stopped', async () => {
  await assert.rejects(runPage(fenced(['sh', 'sleep 60']), { ports, timeoutMs: 500 }), /line 3: failed/)
})

test('the block of a list item loses its indentation', () => {
  assert.deepEqual(
    blocksOf('1. x\n\n   ```sh\n   ls\n     -l\n   ```\n').map(({ code }) => code),
    ['ls\n  -l\n'],
  )
  assert.throws(() => blocksOf('```sh\nls\n'), /line 1 has no end/)
})

test('npx finds the command line in a checkout', () => {
  // --offline: npx never asks the registry for a package of this name.
  const { stdout, stderr, status } = spawnSync('npx', ['--offline', 'pohf', '--help'], {
    cwd: repositoryRoot,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^Usage: pohf /)
})
