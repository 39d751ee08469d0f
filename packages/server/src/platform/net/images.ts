import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Ctx } from '../ops/context.ts'
import { makeSlots } from '../queue/slots.ts'
import { OutboundRefused, send } from './outbound.ts'

/** Why an image of a user's address is not shown. */
type ImageFault = 'address_refused' | 'unreachable' | 'not_found' | 'too_large' | 'not_an_image'

export class ImageRefused extends Error {
  readonly fault: ImageFault
  constructor(fault: ImageFault, message: string, options?: ErrorOptions) {
    super(message, options)
    this.fault = fault
  }
}

export const imageMediaType = 'image/webp'

const fetchTimeoutMsDefault = 10_000
const bytesMax = 8 * 1_048_576
const processTimeoutMs = 15_000
/** At a time in one process of the service: slow addresses must not hold up the decoding of other images. */
const fetchesMax = 16
const processesMax = 2
/** Callers that wait for a fetch or a process; further calls are refused with Retry-After. */
const waitingMax = 32

const program = fileURLToPath(new URL('image-process.ts', import.meta.url))
/**
 * Limits that the shell sets before it becomes the process: 1 GiB of data, which bounds what decoders allocate, 20 s of CPU
 * time, no files, no core dump.
 */
const limits = 'ulimit -d 1048576 && ulimit -t 20 && ulimit -f 0 && ulimit -c 0 && exec "$@"'
const processEnvironment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }
/** Runs a command in a network namespace of its own, which has no interface but loopback. */
export const withoutNetwork = ['unshare', '--map-root-user', '--net']

type ProcessResult = { readonly code: number | null; readonly output: Buffer; readonly errors: string }

/** Runs a command with the limits; a command that exceeds its time or writes more than the limit is killed. */
export const runLimited = (command: readonly string[], input: Buffer): Promise<ProcessResult> =>
  new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', limits, 'sh', ...command], {
      env: processEnvironment,
      timeout: processTimeoutMs,
      killSignal: 'SIGKILL',
      // In a process group of its own: Ctrl+C in a terminal must not end it while the api finishes its requests.
      detached: true,
    })
    const output: Buffer[] = []
    let size = 0
    let errors = ''
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > bytesMax) child.kill('SIGKILL')
      else output.push(chunk)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      errors = `${errors}${chunk.toString('utf8')}`.slice(0, 2_000)
    })
    // A process that ended does not read its input.
    child.stdin.on('error', () => undefined)
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output: Buffer.concat(output), errors }))
    child.stdin.end(input)
  })

const fetchImage = async (ctx: Ctx, url: string, timeoutMs: number): Promise<Buffer> => {
  const response = await send({
    url,
    method: 'GET',
    headers: { accept: 'image/webp,image/png,image/jpeg,image/gif' },
    timeoutMs,
    responseBytesMax: bytesMax,
    trust: 'user',
    allowLoopback: ctx.config.loopback,
  }).catch((error: unknown) => {
    const fault = error instanceof OutboundRefused ? 'address_refused' : 'unreachable'
    throw new ImageRefused(fault, 'the address of an image did not answer in time or is not allowed', {
      cause: error,
    })
  })
  if (response.status !== 200)
    throw new ImageRefused('not_found', `the address of an image answered ${response.status}`)
  if (!response.complete)
    throw new ImageRefused('too_large', `an image is larger than ${bytesMax} bytes, or its response was cut`)
  return response.bytes
}

/**
 * Loads images of addresses that users gave: fetched within the address guard, decoded and encoded anew in a process of
 * its own. Nobody who looks at the result sends anything to the address.
 */
export const makeImageLoader = (ctx: Ctx, fetchTimeoutMs = fetchTimeoutMsDefault) => {
  const inFetchSlot = makeSlots({ slotsMax: fetchesMax, waitingMax })
  const inProcessSlot = makeSlots({ slotsMax: processesMax, waitingMax })
  let isolation: Promise<readonly string[]> | undefined
  const findIsolation = async (): Promise<readonly string[]> => {
    const { code, errors } = await runLimited([...withoutNetwork, 'true'], Buffer.alloc(0))
    if (code === 0) return withoutNetwork
    if (code === null) throw new Error(`the test for a network namespace was killed: ${errors.slice(-300)}`)
    ctx.log.warn(
      { code, errors },
      'images are decoded in a process that has a network: a network namespace is not permitted',
    )
    return []
  }
  const encode = async (bytes: Buffer): Promise<Buffer> => {
    // On a busy machine the test may be killed. This image then fails and the next one repeats the test, so a killed test
    // never leads to decoding with a network.
    isolation ??= findIsolation().catch((error: unknown) => {
      isolation = undefined
      throw error
    })
    const node = [process.execPath, '--max-old-space-size=64', program]
    const { code, output, errors } = await runLimited([...(await isolation), ...node], bytes)
    if (code === 0 && output.length > 0) return output
    throw new ImageRefused('not_an_image', `the image process ended with ${code}: ${errors.slice(-300)}`)
  }
  const loadNow = async (url: string): Promise<Buffer> => {
    const bytes = await inFetchSlot(() => fetchImage(ctx, url, fetchTimeoutMs))
    return inProcessSlot(() => encode(bytes))
  }
  /** By address: who asks for one image many times at once holds one place, and leaves the others to other people. */
  const loading = new Map<string, Promise<Buffer>>()
  return (url: string): Promise<Buffer> => {
    const known = loading.get(url)
    if (known) return known
    const load = loadNow(url).finally(() => loading.delete(url))
    loading.set(url, load)
    return load
  }
}
export type ImageLoader = ReturnType<typeof makeImageLoader>
