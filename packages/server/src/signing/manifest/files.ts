import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createFile, readFileIfThere, replaceFile } from '../folder/atomic-file.ts'
import {
  revokedKidOf,
  verifyManifest,
  verifyRevocation,
  type Revocation,
  type VerifiedManifest,
} from './rules.ts'

/** A manifest that this process does not accept. It is never a reason to stop: the version on disk stays in force. */
export class ManifestRefused extends Error {}

const versionFile = /^(\d{9})\.jws$/
const nameOf = (version: number) => `${String(version).padStart(9, '0')}.jws`
/** At most this many versions are handed over at once. */
const passedOnMax = 20

const listVersions = (folder: string): number[] =>
  readdirSync(folder)
    .flatMap((name) => versionFile.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b)

const admissionPath = (folder: string) => join(folder, 'admission')

/** The thumbprint of the admission key that is pinned in this folder; undefined before the first contact. */
export const findAdmission = (folder: string): string | undefined =>
  readFileIfThere(admissionPath(folder))?.trim()

/** Pins the admission key of the folder, once and for all. */
const pinAdmissionKey = (folder: string, kid: string): string => {
  createFile(admissionPath(folder), `${kid}\n`)
  const pinned = findAdmission(folder) ?? ''
  if (pinned !== kid)
    throw new Error(
      `${folder} belongs to the deployment of admission key ${pinned}, not of ${kid}. Use the folder of this deployment, or see docs/operate/keys.md.`,
    )
  return pinned
}

const readVersion = (folder: string, version: number, admission: string): VerifiedManifest => {
  const path = join(folder, nameOf(version))
  try {
    return verifyManifest(readFileIfThere(path), admission)
  } catch (cause) {
    throw new Error(`key manifest not readable from ${path}`, { cause })
  }
}

/** Refuses what does not follow the present version. */
const checkFollows = (current: VerifiedManifest, next: VerifiedManifest): void => {
  const [have, got] = [current.manifest.version, next.manifest.version]
  if (got < have) throw new ManifestRefused(`key manifest version ${got} is older than version ${have}`)
  if (got === have) throw new ManifestRefused(`there are two different key manifests of version ${have}`)
  if (got !== have + 1 || next.manifest.previous !== current.hash)
    throw new ManifestRefused(`key manifest version ${got} does not follow version ${have} of this process`)
}

type HeldRevocation = { readonly jws: string; readonly revocation: Revocation }

/** Every revocation was verified before it was written, perhaps under a version that still held its key. */
const loadRevocations = (folder: string): Map<string, HeldRevocation> =>
  new Map(
    readdirSync(folder).flatMap((name): [string, HeldRevocation][] => {
      const kid = name.slice(0, 43)
      const jws = name === `${kid}.jws` ? readFileIfThere(join(folder, name)) : undefined
      if (jws === undefined) return []
      const payload = Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString('utf8')
      return [[kid, { jws, revocation: JSON.parse(payload) as Revocation }]]
    }),
  )

/** The versions of one folder, and its pinned admission key. */
const openVersions = (folder: string, pinned: string | undefined) => {
  let admission = pinned === undefined ? findAdmission(folder) : pinAdmissionKey(folder, pinned)
  let current: VerifiedManifest | undefined
  /** Another process of this machine may have written a newer version. */
  const readNewest = (): void => {
    const newest = listVersions(folder).at(-1)
    if (admission === undefined || newest === undefined || newest <= (current?.manifest.version ?? 0)) return
    current = readVersion(folder, newest, admission)
  }
  const verify = (jws: unknown): VerifiedManifest => {
    if (admission === undefined)
      throw new ManifestRefused(`${folder} names no admission key to verify a manifest with`)
    return verifyManifest(jws, admission)
  }
  readNewest()
  return {
    admission: () => admission,
    pin: (kid: string): void => {
      admission = pinAdmissionKey(folder, kid)
      readNewest()
    },
    current: () => current,
    verify,
    /** Accepts the next version; false where it is known already. Throws `ManifestRefused` for every other. */
    offer: (jws: unknown): boolean => {
      readNewest()
      const next = verify(jws)
      if (next.hash === current?.hash) return false
      if (current) checkFollows(current, next)
      if (createFile(join(folder, nameOf(next.manifest.version)), next.jws)) current = next
      else readNewest()
      return true
    },
    /** Adopts a fork of the manifest history. */
    replace: (next: VerifiedManifest): void => {
      for (const version of listVersions(folder)) rmSync(join(folder, nameOf(version)))
      replaceFile(join(folder, nameOf(next.manifest.version)), next.jws)
      current = next
    },
    read: (version: number): string | undefined => readFileIfThere(join(folder, nameOf(version))),
    list: (): number[] => listVersions(folder),
  }
}
type Versions = ReturnType<typeof openVersions>

/** The versions after one that somebody has, in order; for somebody who has none, the newest. */
const versionsAfter = (versions: Versions, version: number | undefined): string[] => {
  const newest = versions.current()
  if (!newest) return []
  if (version === undefined) return [newest.jws]
  const line: string[] = []
  for (let next = version + 1; next <= newest.manifest.version && line.length < passedOnMax; next++) {
    const jws = versions.read(next)
    if (jws === undefined) return [newest.jws]
    line.push(jws)
  }
  return line
}

/**
 * The manifests and revocations that this process accepted, on disk. Every file is created whole and never changed, so the
 * api and the worker of one machine share the folder. The highest version counts, and nothing is ever taken back.
 */
export const openManifestFiles = (folder: string, pinned: string | undefined) => {
  const revokedFolder = join(folder, 'revoked')
  mkdirSync(revokedFolder, { recursive: true, mode: 0o700 })
  const versions = openVersions(folder, pinned)
  const { admission, pin, current, offer } = versions
  const revocations = loadRevocations(revokedFolder)
  const isRevoked = (kid: string): boolean =>
    revocations.has(kid) || current()?.manifest.revocations.some((each) => each.kid === kid) === true
  return {
    admission,
    pin,
    current,
    offer,
    isRevoked,
    /**
     * Takes over another line of versions, as the holder of the admission key may: after its folder was restored from a
     * backup, versions that it signed itself are ahead of it. False where they are not.
     */
    adopt: (jws: unknown): boolean => {
      const [have, next] = [current(), versions.verify(jws)]
      if (!have || next.hash === have.hash || next.manifest.version < have.manifest.version) return false
      versions.replace(next)
      return true
    },
    /** The same for any version, where an operator says so. */
    replace: (jws: unknown): void => versions.replace(versions.verify(jws)),
    after: (version: number | undefined): string[] => versionsAfter(versions, version),
    /** The versions after one that are on this disk, each with its number. */
    since: (version: number): { readonly version: number; readonly jws: string }[] =>
      versions
        .list()
        .filter((each) => each > version)
        .map((each) => ({ version: each, jws: versions.read(each) ?? '' })),
    /** Accepts a revocation; false where the key is revoked already. */
    offerRevocation: (jws: unknown): boolean => {
      const newest = current()
      if (!newest) throw new ManifestRefused(`no manifest in ${folder} to verify a revocation with`)
      const named = revokedKidOf(jws)
      if (named !== undefined && isRevoked(named)) return false
      const revocation = verifyRevocation(jws, newest.manifest)
      createFile(join(revokedFolder, `${revocation.kid}.jws`), String(jws))
      revocations.set(revocation.kid, { jws: String(jws), revocation })
      return true
    },
    /** The revocations that no manifest holds yet. */
    openRevocations: (): HeldRevocation[] =>
      [...revocations.values()].filter(
        ({ revocation }) => current()?.manifest.keys.some(({ kid }) => kid === revocation.kid) === true,
      ),
  }
}
export type ManifestFiles = ReturnType<typeof openManifestFiles>
