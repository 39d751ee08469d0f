import { z } from 'zod'
import { kidOf } from '../rules.ts'
import type { StatementKey } from './key-pair.ts'
import {
  nextManifest,
  verifyManifest,
  verifyRequest,
  verifyRevocation,
  type AdmissionTerms,
  type VerifiedManifest,
} from './rules.ts'

/** What `pohf keys admission request` writes: what a signer asks for, and what it knows of the others. */
const requestFile = z.strictObject({
  request: z.string(),
  manifest: z.string().nullable(),
  revocations: z.array(z.string()).max(4_000),
})

type OfflineAdmission = AdmissionTerms & { readonly now: number }

/**
 * Signs the versions that admit these requests, away from every signer. The newest manifest of the files is the one that
 * they follow, so at least one file must be of a signer that is admitted.
 */
export const admitOffline = (
  key: StatementKey,
  files: readonly unknown[],
  terms: OfflineAdmission,
): string[] => {
  const parsed = files.map((file) => requestFile.parse(file))
  const known = parsed.flatMap(({ manifest }) => (manifest === null ? [] : verifyManifest(manifest, key.kid)))
  let current: VerifiedManifest | undefined = known
    .toSorted((a, b) => a.manifest.version - b.manifest.version)
    .at(-1)
  if (!current)
    throw new Error(
      `none of ${files.length} files holds the present manifest of admission key ${key.kid}: add the request of an admitted signer`,
    )
  const base = current.manifest
  const revocations = parsed.flatMap((file) => file.revocations).map((jws) => verifyRevocation(jws, base))
  const issued: string[] = []
  for (const { request } of parsed) {
    const jws = nextManifest(key, current, { ...terms, request: verifyRequest(request), revocations })
    current = verifyManifest(jws, key.kid)
    issued.push(jws)
  }
  return issued
}

/** Who asks in a request file, and for which keys: what an operator reads before it is admitted. */
export const describeRequest = (file: unknown) => {
  const { signer, cell, identity, keys } = verifyRequest(requestFile.parse(file).request)
  return {
    signer,
    cell,
    identity: kidOf(identity),
    keys: keys.map(({ kid, purpose }) => ({ kid, purpose })),
  }
}
