// Golden files of what callers see, made without a server: OpenAPI, events, errors, settings, ids, the SDK and the CLI.
import { createClient } from '@pohf/sdk'
import { z } from 'zod'
import {
  credentialClaims,
  errorCatalogue,
  errorCodes,
  eventEnvelope,
  events,
  idPrefixes,
  keyPurposes,
  onchainClaims,
  openApiDocument,
  operatorEndpoints,
  scopes,
  type Endpoint,
} from '../../../packages/protocol/src/index.ts'
import { settings } from '../../../packages/server/src/platform/ops/settings.ts'
import { readCliHelp } from '../cli-help.ts'
import { jsonText, linesText } from './compare.ts'

const schemaOf = (schema: z.ZodType): unknown =>
  z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })

const eventsText = (): string =>
  jsonText({
    envelope: schemaOf(eventEnvelope),
    events: Object.fromEntries(
      Object.entries(events)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { data, example, published }]) => [name, { published, data: schemaOf(data), example }]),
    ),
  })

const claimsText = (): string =>
  jsonText({ credential: schemaOf(credentialClaims), onchain: schemaOf(onchainClaims) })

/** The operators' listener is not in the OpenAPI document. */
const operatorText = (): string => {
  const rows: readonly Endpoint[] = operatorEndpoints
  const described = rows.map((row): [string, unknown] => [
    `${row.method} ${row.path}`,
    {
      summary: row.summary,
      ...Object.fromEntries(
        (['params', 'query', 'body', 'response'] as const).flatMap((part) => {
          const schema = row[part]
          return schema ? [[part, schemaOf(schema)]] : []
        }),
      ),
    },
  ])
  return jsonText(Object.fromEntries(described.toSorted(([a], [b]) => (a < b ? -1 : 1))))
}

const errorsText = (): string =>
  linesText(
    errorCodes.map((code) => {
      const { status, retryable } = errorCatalogue[code]
      return `${code}\t${status}\t${retryable ? 'retryable' : 'final'}`
    }),
  )

const idsText = (): string =>
  linesText([
    ...Object.entries(idPrefixes).map(([prefix, { long }]) => `id\t${prefix}\t${long ? 'long' : 'short'}`),
    ...scopes.map((scope) => `scope\t${scope}`),
    ...keyPurposes.map((purpose) => `signing key\t${purpose}`),
  ])

const settingsText = (): string =>
  linesText(
    Object.entries(settings.shape).map(([name, schema]) => {
      const fallback = schema.safeParse(undefined)
      const shown = fallback.success ? (JSON.stringify(fallback.data) ?? 'none') : 'required'
      return `${name}\t${shown}\t${z.globalRegistry.get(schema)?.description ?? ''}`
    }),
  )

type Method = (input: Record<string, string>) => Promise<unknown>

/** What a method of the client sends. The fields of the path are found by what it asks for. */
const sentBy = async (method: Method, sent: () => string): Promise<string> => {
  const input: Record<string, string> = {}
  for (let fields = 0; fields < 10; fields++) {
    try {
      await method(input)
      return sent()
    } catch (error) {
      const [, name] = /^(\w+) is missing\.$/.exec(error instanceof Error ? error.message : '') ?? []
      if (name === undefined) throw error
      input[name] = `{${name}}`
    }
  }
  throw new Error(`a method of the client needs more than ten path fields: ${Object.keys(input).join(', ')}`)
}

/** Every method of the client with what it calls. */
const sdkText = async (): Promise<string> => {
  let last = ''
  const answer: typeof fetch = async (url, init) => {
    const { pathname } = new URL(url instanceof Request ? url.url : url)
    last = `${init?.method} ${decodeURIComponent(pathname)}`
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  }
  const client = createClient({ baseUrl: 'https://pohf.example', fetch: answer }) as unknown as Record<
    string,
    Record<string, Method>
  >
  const lines: string[] = []
  for (const [module, methods] of Object.entries(client))
    for (const [name, method] of Object.entries(methods))
      lines.push(`client.${module}.${name}\t${await sentBy(method, () => last)}`)
  return linesText(lines)
}

const cliText = async (): Promise<string> =>
  (await readCliHelp()).map(({ command, help }) => `## ${command}\n\n${help}\n`).join('\n')

export const publicFiles = async (): Promise<[string, string][]> => [
  ['openapi.json', jsonText(openApiDocument())],
  ['operator-api.json', operatorText()],
  ['events.json', eventsText()],
  ['claims.json', claimsText()],
  ['errors.tsv', errorsText()],
  ['ids.tsv', idsText()],
  ['settings.tsv', settingsText()],
  ['sdk.tsv', await sdkText()],
  ['cli.md', await cliText()],
]
