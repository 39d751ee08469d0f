import type { Selectable } from 'kysely'
import type { DB } from '../../platform/db/schema.ts'

type Row = Selectable<DB['person_proofs']>
/** A proof that counts for an agent at a time. */
export type ValidProof = {
  /** The issuer as readers of a credential know it: its address or name. */
  readonly issuer: string
  /** The issuer's name in the settings, by which it is suspended. */
  readonly name: string
  readonly kind: Row['kind']
  readonly class: Row['source_class']
  readonly level: Row['level']
  /** Whether the issuer counts each human once. */
  readonly counted: boolean
  /** Whether it is worth what the reader thinks of the issuer. */
  readonly named: boolean
  /** A keyed hash of the issuer's code of the human, the same for every agent; undefined where the issuer counts nobody. */
  readonly human: string | undefined
  readonly checkedAt: Date
  /** Whether it was shown for an act of the last minutes. */
  readonly fresh: boolean
}
