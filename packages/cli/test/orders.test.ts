import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inheritedEnvironment } from '../../server/test/fixtures/processes/child-processes.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** Two pages of the results of an order, which a service splits after 1,000 units. */
const service = createServer((request, response) => {
  const after = new URL(request.url ?? '', 'http://service').searchParams.get('after')
  const isLast = after === '1000'
  response.writeHead(200, { 'content-type': 'text/csv', ...(isLast ? {} : { 'x-next-cursor': '1000' }) })
  response.end(`n,status\r\n${isLast ? '1001,accepted' : '1,accepted'}\r\n`)
})
service.listen(0, '127.0.0.1')
await once(service, 'listening')
after(() => service.close())
const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`

test('orders results --csv prints every page of an order, with one line of column names', async () => {
  const child = spawn(
    process.execPath,
    [main, 'orders', 'results', 'ord_1', '--csv', '--url', url, '--key', 'k'],
    {
      env: inheritedEnvironment,
    },
  )
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  assert.equal(out, 'n,status\r\n1,accepted\r\n1001,accepted\r\n', err)
})
