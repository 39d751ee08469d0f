import { randomBytes } from 'node:crypto'
import {
  loadDeviceTrust,
  type DeviceTrust,
} from '../../packages/server/src/evidence/devices/attestation-trust.ts'
import { readCbor } from '../../packages/server/src/evidence/devices/cbor.ts'
import { makePasskeyVerifier } from '../../packages/server/src/evidence/devices/passkey-verifier.ts'
import { originOf } from '../../packages/server/src/members/index.ts'
import { canHavePasskeys } from '../../packages/server/src/platform/ops/setting-fields.ts'
import { creationOptions, requestOptions } from '../../packages/server/src/platform/sign-in/passkey.ts'
import { openPasskeyPage, type PasskeyPage } from './passkey-page.ts'
import { StepFailure, type Input } from './steps.ts'

const makeChallenge = () => randomBytes(32).toString('base64url')

/** The format of the attestation and the model of the authenticator, which a verified credential names. */
const readModel = (credential: unknown): { readonly format: string; readonly aaguid: string } => {
  const { response } = credential as { response: { attestationObject: string } }
  const object = readCbor(Buffer.from(response.attestationObject, 'base64url'))
  const [format, data] = object instanceof Map ? [object.get('fmt'), object.get('authData')] : []
  if (typeof format !== 'string' || !(data instanceof Uint8Array))
    throw new Error('a verified attestation has no format or no authenticator data')
  // 32 bytes of the relying party, one of flags, four of the counter.
  const hex = Buffer.from(data.subarray(37, 53)).toString('hex')
  const aaguid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { format, aaguid }
}

/** Fails where nobody answers. */
const withinWait = async <T>({ options }: Input, work: Promise<T>): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () =>
      reject(
        new StepFailure(
          `no authenticator answered within ${options.waitSeconds} seconds`,
          'Stop the service, so that this command gets its port, or let the proxy of BASE_URL send to the port of --port. Open the page in a browser with an authenticator.',
        ),
      ),
    options.waitSeconds * 1_000,
  )
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

const refused = (site: { readonly origin: string }) =>
  new StepFailure(
    'the service refuses what the authenticator signed',
    `Open the page at ${site.origin} and at no other address. The authenticator must verify you, by biometrics or a PIN.`,
  )

const modelNote = (trust: DeviceTrust, aaguid: string): string => {
  const model = trust.findModel(aaguid)
  return model === undefined
    ? 'the metadata of ATTEST_FIDO_METADATA_FILE does not name the model'
    : `the metadata names the model: level ${model.level}, keys in ${model.keyProtection.join(', ')}`
}

const registerAndSignIn = async (input: Input, page: PasskeyPage): Promise<void> => {
  const { config, step, options } = input
  const site = originOf(config)
  const timeoutMs = options.waitSeconds * 1_000
  const trust = loadDeviceTrust(config, new Date())
  const verifier = makePasskeyVerifier(() => trust)
  const passkey = await step('An authenticator makes a passkey, and the service accepts it', async (note) => {
    const challenge = makeChallenge()
    const user = { handle: makeChallenge(), name: 'First contact' }
    const wanted = creationOptions({ rpId: site.rpId, challenge, timeoutMs, user, knownIds: [] })
    const { credential, browser } = await withinWait(
      input,
      page.ask({ kind: 'create', publicKey: { ...wanted, attestation: 'direct' } }),
    )
    const made = await verifier.verifyNew(credential, { ...site, challenge })
    if (!made) throw refused(site)
    const { format, aaguid } = readModel(credential)
    note(browser)
    note(`attestation ${format}, AAGUID ${aaguid}`)
    note(modelNote(await trust, aaguid))
    note(`assurance ${made.assurance}, ${made.synced ? 'synced between devices' : 'bound to the device'}`)
    return made
  })
  await step('The same authenticator signs in with it', async (note) => {
    const challenge = makeChallenge()
    const wanted = requestOptions({ rpId: site.rpId, challenge, timeoutMs })
    const { credential } = await withinWait(input, page.ask({ kind: 'use', publicKey: wanted }))
    const used = await verifier.verifyKnown(credential, passkey, { ...site, challenge })
    if (!used) throw refused(site)
    note(used.counter === 0 ? 'it counts no signatures' : `signature counter ${used.counter}`)
    if (used.synced !== passkey.synced) note('it changed its word on whether it can be copied')
  })
}

/** Registers a passkey at a page on the service's own origin, and signs in with it. Neither is stored. */
export const contactPasskey = async (input: Input): Promise<void> => {
  const { config, options, step, say, leaveToPerson } = input
  const { origin } = originOf(config)
  await step('Browsers have passkeys at BASE_URL', (note) => {
    if (!canHavePasskeys(origin))
      throw new StepFailure(
        `${origin} is not a host name with TLS`,
        'Set BASE_URL to the public address of the service, https and a host name.',
      )
    note(origin)
  })
  const page = await step('The page waits for a browser', async (note) => {
    const port = options.port ?? config.PORT
    note(`port ${port} of ${config.HOST}`)
    return openPasskeyPage(config.HOST, port)
  })
  say(`Open ${origin}${page.path} in a browser with an authenticator, and press Start.`)
  let message = 'The check failed: the terminal says why.'
  try {
    await registerAndSignIn(input, page)
    message = 'The passkey works: the terminal names the report.'
  } finally {
    await page.close(message)
  }
  leaveToPerson(
    'Repeat it with a security key, with a phone of each system, and in each browser that you support.',
  )
  leaveToPerson('Delete the passkey "First contact" in the settings of the device.')
}
