import type { Fetch } from './policy.ts'

const timeoutMs = 5_000

/** Reads a stream to its end; throws as soon as it is longer than allowed. */
export const readCapped = async (
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> => {
  const reader = stream.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > maxBytes) {
      // The rest of the stream and its errors do not matter.
      reader.cancel().catch(() => undefined)
      throw new Error(`longer than ${maxBytes} bytes`)
    }
    chunks.push(value)
  }
  const whole = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.length
  }
  return whole
}

type DownloadLimits = { readonly maxBytes: number; readonly accept: string }

/** Fetches a public file: no redirect is followed, no cookie is sent, size and time are bounded. */
export const download = async (
  fetchFile: Fetch,
  url: string,
  limits: DownloadLimits,
): Promise<Uint8Array<ArrayBuffer>> => {
  const response = await fetchFile(url, {
    headers: { accept: limits.accept },
    redirect: 'error',
    credentials: 'omit',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (response.status !== 200) throw new Error(`answered ${response.status}`)
  return response.body ? readCapped(response.body, limits.maxBytes) : new Uint8Array(0)
}
