/** An issuer outside that can tell one human from another: a document check, a proof of personhood. */
export type ExternalIssuer = {
  /** Stands in `methods` as `external:<name>`. */
  readonly name: string
  /**
   * The issuer's code for this human, the same at every proof; undefined where the proof does not hold. The proof must
   * cover `signal`, which is this person's alone, or a stolen one could be shown by somebody else.
   */
  readonly verify: (proof: unknown, signal: string) => Promise<string | undefined>
}
