import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../platform/http/errors.ts'
import { readSignatureAgent } from './fields.ts'

test('an address that only looks like a URL is refused, however long it is', () => {
  const component = { name: 'signature-agent', key: 'sig1' }
  const signature = { label: 'sig1', tag: 'web-bot-auth', components: [component], parameters: new Map() }
  const read = (url: string) => readSignatureAgent({ 'signature-agent': `sig1="${url}"` }, signature)
  assert.equal(read('https://agent.example/path'), 'https://agent.example')
  // For some hosts of this length canParse says yes, and the constructor throws a TypeError.
  const longHost = `https://agent.exam${'eyJhIjp7ImEiOnsiYSI6'.repeat(2_000)}`
  for (const url of [longHost, 'https://', 'agent.example', ''])
    assert.throws(
      () => read(url),
      (error) => error instanceof Refusal,
      url.slice(0, 40),
    )
})
