import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type Hmac,
} from 'node:crypto'
import { readMasterKey, type MasterKeyFile } from './master-key/file.ts'
import {
  isKept,
  keptPurposes,
  type ExpiringPurpose,
  type KeptPurpose,
  type ResealedPurpose,
  type SecretPurpose,
} from './secret-purposes.ts'

/** Which versions of the master key the processes of the deployment use now. The database has it. */
export type MasterKeyState = {
  /** The version under which values are sealed and tokens are made. */
  readonly sealing: number
  /** The versions of which values are opened and tokens are accepted, with their fingerprints. */
  readonly accepted: ReadonlyMap<number, string>
}

/** Keys derived from the master key, and encryption of short texts that are stored in the database. */
export type Secrets = {
  /** Always the same 32 bytes for the same purpose, whichever version the master key has. */
  derive(purpose: KeptPurpose): Buffer
  /** The keys of a purpose whose values expire. The first makes new ones; those that another made are accepted too. */
  accepted(purpose: ExpiringPurpose): readonly [Buffer, ...Buffer[]]
  seal(purpose: ResealedPurpose, plain: string): string
  open(purpose: ResealedPurpose, sealed: string): string
  readonly keyring: Keyring
}

/** The versions of the master key that a process has. Only what rotates the master key uses it. */
type Keyring = {
  /** The fingerprint of each version in the file. */
  fingerprints(): ReadonlyMap<number, string>
  /** The fingerprint of the key of each kept purpose. */
  keptFingerprints(): ReadonlyMap<KeptPurpose, string>
  sealing(): number
  /**
   * Uses these versions from now on, and reads the file again where it may hold others than before. While it lacks the
   * version that seals, nothing is sealed.
   */
  follow(state: MasterKeyState): void
  /** The versions under which values are sealed and that the file lacks. */
  missing(): readonly number[]
  /** A sealed text, sealed anew under the version that seals; undefined where no version of the file opens it. */
  reseal(purpose: ResealedPurpose, sealed: string): string | undefined
  /** The file without the versions before this one, and with the keys of kept purposes that came from them. */
  fileWithout(before: number): MasterKeyFile
}

/** HMAC-SHA-256. For raw bytes, Node 24.21 checks twice whether they are a key object: 38 µs instead of 10. */
export const hmacOf = (key: Buffer): Hmac => createHmac('sha256', createSecretKey(key))

/** Without this length Node accepts a tag that was truncated to 4 bytes. */
const authTagLength = 16

const seal = (key: Buffer, plain: string): string => {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength })
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')
}

const open = (key: Buffer, sealed: string): string => {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength })
  decipher.setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}

const deriveKey = (master: Buffer | string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', master, '', `pohf.${purpose}`, 32))
const fingerprintOf = (key: Buffer): string => deriveKey(key, 'fingerprint').toString('base64url')

/** The fingerprint of each version of a file. It tells nothing of the key. */
export const fingerprintsOf = ({ versions }: MasterKeyFile): Map<number, string> =>
  new Map([...versions].map(([version, key]) => [version, fingerprintOf(key)]))

/** The version under which a text is sealed: before a dot, or 1. */
export const versionOf = (sealed: string): number => {
  const end = sealed.indexOf('.')
  return end < 0 ? 1 : Number(sealed.slice(0, end))
}
const withoutVersion = (sealed: string): string => sealed.slice(sealed.indexOf('.') + 1)

const oldestOf = ({ versions }: MasterKeyFile): number => [...versions.keys()][0] ?? 0

/** The keys of one file. Deriving a key costs as much as an HMAC, so it is cached. */
const makeKeys = (file: MasterKeyFile) => {
  const known = new Map<string, Buffer>()
  const ofVersion = (purpose: SecretPurpose, version: number): Buffer => {
    const name = `${version}:${purpose}`
    const found = known.get(name)
    if (found) return found
    const master = file.versions.get(version)
    if (!master) throw new Error(`master.key holds no version ${version}, which the key for ${purpose} needs`)
    const key = deriveKey(master, purpose)
    known.set(name, key)
    return key
  }
  const oldest = oldestOf(file)
  return {
    file,
    ofVersion,
    kept: (purpose: KeptPurpose): Buffer => file.kept.get(purpose) ?? ofVersion(purpose, oldest),
  }
}
type Keys = ReturnType<typeof makeKeys>

/** Whether another file may replace this one: it has the same keys, and its versions are those that the database knows. */
const continues = (next: Keys, { file, kept }: Keys, { accepted }: MasterKeyState): boolean =>
  [...accepted].every(([version, fingerprint]) => {
    const key = next.file.versions.get(version)
    return key ? fingerprintOf(key) === fingerprint : !file.versions.has(version)
  }) && keptPurposes.every((purpose) => next.kept(purpose).equals(kept(purpose)))

const keptFingerprintsOf = ({ kept }: Keys): Map<KeptPurpose, string> =>
  new Map(keptPurposes.map((purpose) => [purpose, fingerprintOf(kept(purpose))]))

/** The result; undefined where the work fails. */
const resultOf = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** The file without older versions: their kept keys become lines of their own. */
const fileWithout = ({ file, kept }: Keys, before: number): MasterKeyFile => ({
  versions: new Map([...file.versions].filter(([version]) => version >= before)),
  kept: new Map([...file.kept, ...keptPurposes.map((purpose) => [purpose, kept(purpose)] as const)]),
})

/** A process that could not read the state for this long seals nothing: others may have retired its version. */
const stateMsMax = 45_000

const makeSecrets = (read: () => MasterKeyFile): Secrets => {
  let keys = makeKeys(read())
  const fingerprints = () => fingerprintsOf(keys.file)
  let state: MasterKeyState = { sealing: oldestOf(keys.file), accepted: fingerprints() }
  let followedAt: number | undefined

  const readAgain = (): void => {
    const next = makeKeys(read())
    if (continues(next, keys, state)) keys = next
  }
  const requireFresh = (): void => {
    const ms = followedAt === undefined ? 0 : performance.now() - followedAt
    if (ms > stateMsMax)
      throw new Error(`the versions of the master key were read ${Math.round(ms)} ms ago; nothing is sealed`)
  }
  const sealText = (purpose: ResealedPurpose, plain: string): string => {
    requireFresh()
    const sealed = seal(keys.ofVersion(purpose, state.sealing), plain)
    return state.sealing === 1 ? sealed : `${state.sealing}.${sealed}`
  }
  const openText = (purpose: ResealedPurpose, sealed: string): string => {
    const version = versionOf(sealed)
    if (!state.accepted.has(version)) throw new Error(`version ${version} of the master key opens nothing`)
    return open(keys.ofVersion(purpose, version), withoutVersion(sealed))
  }
  return {
    derive: (purpose: SecretPurpose) =>
      Buffer.from(isKept(purpose) ? keys.kept(purpose) : keys.ofVersion(purpose, state.sealing)),
    accepted: (purpose) => {
      const others = [...state.accepted.keys()].filter(
        (version) => version !== state.sealing && keys.file.versions.has(version),
      )
      const keyOf = (version: number): Buffer => Buffer.from(keys.ofVersion(purpose, version))
      return [keyOf(state.sealing), ...others.map(keyOf)]
    },
    seal: sealText,
    open: openText,
    keyring: {
      fingerprints,
      keptFingerprints: () => keptFingerprintsOf(keys),
      sealing: () => state.sealing,
      follow: (next) => {
        state = next
        followedAt = performance.now()
        const held = [...keys.file.versions.keys()]
        if (held.join() !== [...next.accepted.keys()].join()) readAgain()
      },
      missing: () =>
        [...state.accepted.keys()].filter(
          (version) => version <= state.sealing && !keys.file.versions.has(version),
        ),
      reseal: (purpose, sealed) => {
        const plain = resultOf(() => openText(purpose, sealed))
        return plain === undefined ? undefined : sealText(purpose, plain)
      },
      fileWithout: (before) => fileWithout(keys, before),
    },
  }
}

/** Seals under a key of this deployment what a client keeps for a short time: `accepted` gives the keys. */
export const sealUnder = (key: Buffer, plain: string): string => seal(key, plain)
/** Opens it with the key that made it; undefined where none of them did, or where it is spelled in another way. */
export const openUnder = (keys: readonly Buffer[], sealed: string): string | undefined => {
  if (Buffer.from(sealed, 'base64url').toString('base64url') !== sealed) return undefined
  for (const key of keys) {
    const plain = resultOf(() => open(key, sealed))
    if (plain !== undefined) return plain
  }
  return undefined
}

/** Seals under a key that only the holder of `secret` has, such as a caller's API key. */
export const sealFor = (secret: string, plain: string): string => seal(deriveKey(secret, 'caller'), plain)
export const openFor = (secret: string, sealed: string): string => open(deriveKey(secret, 'caller'), sealed)

/** The master key of this deployment, created at the first start. */
export const loadSecrets = (dataDir: string): Secrets => makeSecrets(() => readMasterKey(dataDir))
