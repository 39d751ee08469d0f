import type { Audit } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { Signer } from '../signer-client.ts'
import type { RestoreGuard } from './guard.ts'

/** A credential that was signed and that the database does not have. */
export type MissingCredential = {
  readonly agentId: string
  readonly credentialId: string
  readonly signer: string
  readonly batch: number
  /** Null where its batch was never acknowledged, or its act is not known: then the act is free. */
  readonly actKey: string | null
  readonly hash: string
  readonly list: string
  readonly index: number
  readonly signedAt: Date
  readonly expiresAt: Date
  readonly charged: boolean
  readonly state: 'issued' | 'revoked'
}

/** A status list as it was published last. */
export type PublishedStates = {
  readonly list: string
  readonly version: number
  readonly states: Buffer
  readonly jwt: string
}

/** The time that a restored database does not have. */
type LostSpan = {
  /** No journal names what was minted in it. */
  readonly all: boolean
  /** The last mint that the database has. */
  readonly from: Date | undefined
  /** Credentials that were recorded as forgotten after this time are of this span. */
  readonly previousRestoreAt: Date
}

/** What a restore changes in other modules. The wiring passes it in. */
export type RestoreParts = {
  readonly listKnownIds: (tx: Tx, ids: readonly string[]) => Promise<ReadonlySet<string>>
  readonly closeLists: (tx: Tx) => Promise<number>
  readonly countDifferences: (tx: Tx, published: PublishedStates) => Promise<number>
  readonly applyPublished: (tx: Tx, published: PublishedStates) => Promise<number>
  readonly recordForgotten: (
    tx: Tx,
    credentials: readonly MissingCredential[],
  ) => Promise<{ readonly recorded: number; readonly charged: number; readonly uncharged: number }>
  /** What was open before the restore and is void. */
  readonly voidOpen: readonly {
    readonly name: string
    readonly run: (tx: Tx, span: LostSpan) => Promise<number>
  }[]
  /** Compares with the chain and the card provider, outside transactions. Safe to repeat. */
  readonly reconcile: readonly { readonly name: string; readonly run: () => Promise<number> }[]
}

export type RestoreDeps = {
  readonly ctx: Ctx
  readonly signer: Signer
  readonly guard: RestoreGuard
  readonly parts: RestoreParts
  readonly audit: Audit
}
