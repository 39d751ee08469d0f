/** An external issuer that distinguishes humans: a document check, a proof of personhood. */
export type ExternalIssuer = {
  /** Appears in `methods` as `external:<name>`. */
  readonly name: string
  /**
   * The issuer's code for this human, the same for every proof; undefined when the proof is invalid. The proof must
   * cover `signal`, which is specific to this person, or another person could present a stolen proof.
   */
  readonly verify: (proof: unknown, signal: string) => Promise<string | undefined>
}
