/** What a call came to when it was not answered as asked. */
export type Trouble = {
  readonly code: string
  readonly message: string
  readonly details: readonly string[]
  readonly requestId: string | undefined
}

/** The public API under one key. The key is in this closure and nowhere else: no cookie, no storage. */
export type Api = {
  readonly mode: 'test' | 'live'
  readonly call: <T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) => Promise<T>
}

class CallFailed extends Error {
  readonly trouble: Trouble
  constructor(trouble: Trouble) {
    super(trouble.message)
    this.trouble = trouble
  }
}

export const isKey = (text: string): boolean => /^svc_(test|live)_[A-Za-z0-9]{10,80}$/.test(text)

type Refused = {
  readonly error?: string
  readonly message?: string
  readonly requestId?: string
  readonly details?: readonly { readonly path: string; readonly message: string }[]
}

const unreachable: Trouble = {
  code: 'unreachable',
  message: 'The service did not answer. Is it running, and are you online?',
  details: [],
  requestId: undefined,
}

export const makeApi = (key: string, onBadKey: (trouble: Trouble) => void): Api => ({
  mode: key.startsWith('svc_test_') ? 'test' : 'live',
  call: async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: 'omit',
      cache: 'no-store',
      signal: AbortSignal.timeout(20_000),
    }).catch(() => undefined)
    const answer = (await response?.json().catch(() => undefined)) as (T & Refused) | undefined
    if (response?.ok && answer !== undefined) return answer
    const trouble = answer
      ? {
          code: answer.error ?? 'unknown',
          message: answer.message ?? 'The service refused without a reason.',
          details: (answer.details ?? []).map((detail) => `${detail.path}: ${detail.message}`),
          requestId: answer.requestId,
        }
      : unreachable
    if (response?.status === 401) onBadKey(trouble)
    throw new CallFailed(trouble)
  },
})

export const troubleOf = (error: unknown): Trouble =>
  error instanceof CallFailed
    ? error.trouble
    : {
        code: 'page',
        message: `This page failed: ${error instanceof Error ? error.message : String(error)}`,
        details: [],
        requestId: undefined,
      }
