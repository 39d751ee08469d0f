import assert from 'node:assert/strict'
import { errorCatalogue, type ErrorCode } from '@pohf/protocol'

type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

/** Checks that an answer is a refusal in exactly our shape, whoever refused. */
export const assertRefusal = (answer: Answer, status: number, code: ErrorCode): void => {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  const body = JSON.parse(answer.text) as Record<string, unknown>
  const { details, ...rest } = body
  assert.deepEqual(Object.keys(rest), ['ok', 'error', 'message', 'requestId', 'docs', 'retryable'])
  assert.equal(rest['ok'], false)
  assert.equal(rest['error'], code)
  assert.equal(status, errorCatalogue[code].status)
  assert.equal(rest['retryable'], errorCatalogue[code].retryable)
  assert.ok(typeof rest['message'] === 'string' && rest['message'].length > 0)
  assert.match(String(rest['docs']), new RegExp(`^https?://[^/]+/docs/errors/${code}$`))
  assert.match(String(rest['requestId']), /^[A-Za-z0-9_-]{8,64}$/)
  assert.equal(answer.headers['x-request-id'], rest['requestId'])
  assert.equal(answer.headers['api-version'], '1.0.0')
  if (code !== 'validation_failed') return
  assert.ok(Array.isArray(details) && details.length > 0)
  for (const detail of details as Record<string, unknown>[]) {
    assert.deepEqual(Object.keys(detail), ['path', 'code', 'message'])
    assert.match(String(detail['path']), /^(body|query|path|header)(\.|$)/)
  }
}
