import type { additions } from '@pohf/protocol'
import type { failureTexts } from './texts.ts'

type ErrorsOf<Row> = Row extends { readonly errors: readonly (infer Code extends string)[] } ? Code : never
/** The codes with which the endpoints below a path refuse the person of a page. */
export type RefusalsBelow<Path extends string> =
  | ErrorsOf<Extract<(typeof additions)[number], { readonly path: `${Path}${string}` }>>
  | 'sign_in_required'
  | 'rate_limited'

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
  readonly failed: typeof failureTexts
}

/** The text of a code that the service sent; undefined where it is of a newer version. */
export const textOf = (texts: Readonly<Record<string, string>>, code: string): string | undefined =>
  texts[code]
