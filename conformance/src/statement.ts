import type { EndpointRef } from './api.ts'
import { at, expectThat } from './expect.ts'
import { expectRefusal } from './http.ts'
import { testAgent } from './fixtures.ts'
import type { RunContext } from './run-context.ts'

/** One guarantee of the specification and how an outsider sees it. */
export type Statement = {
  readonly id: string
  readonly title: string
  readonly needs: readonly EndpointRef[]
  /** The specification is silent here; the guarantee is a decision of this project. */
  readonly isProjectDecision?: true
  /** A part below the endpoints that is not built yet. */
  readonly todo?: string
  /** Why no run of this suite can show it. */
  readonly skip?: string
  /** The deployment must reach a receiver on this machine. */
  readonly loopback?: true
  readonly run: (world: RunContext) => Promise<void>
}

export type Section = { readonly name: string; readonly statements: readonly Statement[] }

/** A guarantee that is on record here, but that needs more than public HTTP and a fresh key to be seen. */
export const notObservable = (
  id: string,
  title: string,
  needs: readonly EndpointRef[],
  skip: string,
): Statement => ({
  id,
  title,
  needs,
  skip,
  run: async () => undefined,
})

type BadInput = {
  readonly field: string
  readonly body: Readonly<Record<string, unknown>>
  /** Whether the call carries no key. */
  readonly isPublic?: true
}

/** The statement that an input with one bad field is refused, and that the refusal names this field. */
export const refusesInput = (id: string, title: string, need: EndpointRef, input: BadInput): Statement => ({
  id,
  title,
  needs: [need],
  isProjectDecision: true,
  run: async (world) => {
    const path = need.slice(need.indexOf('/'))
    const options = input.isPublic ? {} : { key: (await testAgent(world)).apiKey }
    const answer = await world.http.post(path, input.body, options)
    expectRefusal(answer, 400, 'validation_failed')
    const details = at(answer.body, 'details')
    expectThat(
      Array.isArray(details) && details.some((detail) => String(at(detail, 'path')).includes(input.field)),
      `details that name ${input.field}`,
      answer.text,
    )
  },
})
