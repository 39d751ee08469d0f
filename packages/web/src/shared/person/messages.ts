/** The texts that the pages of people share. */
export type PersonMessages = {
  readonly loading: string
  readonly again: string
  readonly request: string
  readonly signIn: {
    readonly title: string
    readonly lead: string
    readonly button: string
    readonly wait: string
    readonly waitDevice: string
    readonly lost: string
    readonly how: string
    readonly steps: readonly string[]
  }
  readonly failed: Readonly<Record<string, string>>
}
