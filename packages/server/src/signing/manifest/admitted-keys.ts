import { join } from 'node:path'
import type { Clock } from '../../platform/ops/clock.ts'
import type { Backend } from '../backend.ts'
import { openKeyRecords } from '../key-records.ts'
import { openAdmissionKey } from './admission.ts'
import { ManifestRefused, openManifestFiles } from './files.ts'
import {
  maySign,
  nextManifest,
  publishedKeysOf,
  signRequest,
  signRevocation,
  verifyRequest,
  type AdmissionTerms,
  type ManifestKey,
} from './rules.ts'
import {
  isPublishable,
  publishAheadMs,
  publishUntilOf,
  type KeyPurpose,
  type KeyRecord,
  type PublishedJwk,
} from '../rules.ts'
import { loadSignerIdentity } from '../signer-id.ts'

export type AdmittedKeysOptions = {
  readonly folder: string
  readonly backend: Backend
  readonly clock: Clock
  readonly cell: string
  /** Thumbprint of the admission key, where the deployment has one already. */
  readonly admissionKey?: string | undefined
}

/** A new version is needed where the manifest does not say what this signer knows about its keys. */
const differs = (admitted: ReadonlyMap<string, ManifestKey>, records: readonly KeyRecord[]): boolean =>
  records.filter(isPublishable).some((key) => admitted.get(key.kid)?.publishUntil !== publishUntilOf(key))

/** The folders and keys behind a signer's part in the manifest. */
const openParts = ({ folder, backend, clock, cell, admissionKey }: AdmittedKeysOptions) => {
  const identity = loadSignerIdentity(folder)
  const manifests = openManifestFiles(join(folder, 'manifests'), admissionKey)
  const admission = openAdmissionKey(folder, manifests)
  const admittedKeys = (): ReadonlyMap<string, ManifestKey> =>
    new Map(manifests.current()?.manifest.keys.map((key) => [key.kid, key]))
  let cache:
    { readonly hash: string | undefined; readonly keys: ReadonlyMap<string, ManifestKey> } | undefined
  /** By kid, read once for each version. */
  const admitted = () => {
    const hash = manifests.current()?.hash
    if (cache?.hash !== hash || !cache) cache = { hash, keys: admittedKeys() }
    return cache.keys
  }
  const records = openKeyRecords({
    folder,
    backend,
    clock,
    signFromOf: (kid) => admitted().get(kid)?.signFrom,
    canAdmit: () => admission.key() !== undefined,
  })
  return { identity, manifests, admission, admitted, records, clock, cell }
}
type Parts = ReturnType<typeof openParts>

const requestOf = ({ identity, records, clock, cell }: Parts): string =>
  signRequest(identity.key, {
    signer: identity.signer,
    cell,
    at: clock.now().getTime(),
    keys: records
      .current()
      .filter(isPublishable)
      .map((key) => ({
        kid: key.kid,
        x: key.jwk.x,
        y: key.jwk.y,
        purpose: key.purpose,
        publishUntil: publishUntilOf(key),
      })),
  })

/** Signs the next version with the admission key of this folder. */
const issue = (parts: Parts, requestJws: unknown, terms: AdmissionTerms): void => {
  const { admission, manifests, clock } = parts
  const key = admission.key()
  if (!key)
    throw new Error(
      `the key folder of signer ${parts.identity.signer} has no admission key. Sign the request where it is: pohf keys admit REQUEST --admission FILE`,
    )
  const jws = nextManifest(key, manifests.current(), {
    request: verifyRequest(requestJws),
    revocations: manifests.openRevocations().map(({ revocation }) => revocation),
    now: clock.now().getTime(),
    ...terms,
  })
  manifests.offer(jws)
}

/** Revokes own keys that somebody else revoked, and admits what changed if the admission key is here. */
const settle = (parts: Parts): readonly KeyRecord[] => {
  const { manifests, records, admission, admitted } = parts
  const before = records.current()
  const revoked = before.filter((key) => isPublishable(key) && manifests.isRevoked(key.kid))
  for (const { kid } of revoked) records.revoke(kid)
  const current = revoked.length > 0 ? records.current() : before
  const isDue = differs(admitted(), current) || manifests.openRevocations().length > 0
  if (!admission.key() || !isDue) return current
  // At once, because this signer holds the admission key: its own key states already wait long enough before a key signs.
  issue(parts, requestOf(parts), { signFrom: 'at-once', newIdentities: [parts.identity.key.kid] })
  return records.current()
}

const offerAll = (
  parts: Parts,
  offers: { readonly manifests: unknown[]; readonly revocations: unknown[] },
) => {
  const { manifests, admission } = parts
  const refused: unknown[] = []
  const offerEach = (jwss: readonly unknown[], offer: (jws: unknown) => void) => {
    for (const jws of jwss)
      try {
        offer(jws)
      } catch (error) {
        refused.push(error)
      }
  }
  offerEach(offers.manifests, (jws) => {
    try {
      manifests.offer(jws)
    } catch (error) {
      if (!(error instanceof ManifestRefused) || !admission.key() || !manifests.adopt(jws)) throw error
    }
  })
  // A manifest or a revocation that is refused does not stop the other revocations.
  offerEach(offers.revocations, manifests.offerRevocation)
  settle(parts)
  if (refused.length > 0) throw refused[0]
}

const revokeKey = (parts: Parts, kid: string): boolean => {
  const { identity, manifests, admitted, records, clock } = parts
  if (!admitted().has(kid)) return records.revoke(kid)
  if (manifests.isRevoked(kid)) return false
  const at = clock.now().getTime()
  manifests.offerRevocation(signRevocation(identity.key, { kid, signer: identity.signer, at }))
  settle(parts)
  return true
}

/** The keys of one signer, and what the manifest says about them and about the keys of the others. */
export const openAdmittedKeys = (options: AdmittedKeysOptions) => {
  const parts = openParts(options)
  const { identity, manifests, admission, records, clock } = parts
  settle(parts)
  return {
    signer: identity.signer,
    /** The thumbprint of its identity key: what an operator compares before the signer is admitted. */
    identity: identity.key.kid,
    admission,
    manifests,
    /** The keys of this signer, in their present states. */
    current: () => settle(parts),
    /** Whether a key of this signer may sign: it is admitted, not revoked, and stays published long enough. */
    maySign: (kid: string): boolean => {
      const key = parts.admitted().get(kid)
      return key !== undefined && !manifests.isRevoked(kid) && maySign(key, clock.now().getTime())
    },
    isAdmitted: (kid: string): boolean => parts.admitted().has(kid),
    publicKeys: (): PublishedJwk[] => {
      settle(parts)
      const newest = manifests.current()
      return newest ? publishedKeysOf(newest.manifest, manifests.isRevoked, clock.now().getTime()) : []
    },
    /** Makes the successor of a key now; it signs once it has been published long enough. */
    rotate: (purpose: KeyPurpose): string => {
      const pending = settle(parts).find((key) => key.purpose === purpose && key.state === 'pending')
      const key = pending ?? records.add(purpose, clock.now().getTime() + publishAheadMs(purpose))
      if (!key)
        throw new Error(
          `no ${purpose} key is in reserve, and the admission key is not here to admit a new one. Make a request and have it admitted: docs/operate/keys.md`,
        )
      settle(parts)
      return key.kid
    },
    revoke: (kid: string): boolean => revokeKey(parts, kid),
    offer: (offers: Parameters<typeof offerAll>[1]): void => offerAll(parts, offers),
    /** Offers a manifest for an operator. `replace` adopts a fork of the history: the holder of the admission key may. */
    install: (jws: string, replace: boolean): void => {
      if (!replace) return offerAll(parts, { manifests: [jws], revocations: [] })
      if (!admission.key())
        throw new Error(
          `signer ${identity.signer} has no admission key, and only its holder can replace a manifest`,
        )
      manifests.replace(jws)
      settle(parts)
    },
    /** A signed list of the keys of this signer, with so many keys in reserve for each purpose. */
    request: (reserve: number): string => {
      records.fillReserve(reserve)
      settle(parts)
      return requestOf(parts)
    },
    admit: (requestJws: unknown, terms: AdmissionTerms): void => {
      issue(parts, requestJws, terms)
      settle(parts)
    },
  }
}
export type AdmittedKeys = ReturnType<typeof openAdmittedKeys>
