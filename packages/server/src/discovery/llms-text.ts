import { specification, type Endpoint } from '@pohf/protocol'

const authLabels: Record<Endpoint['auth'], string> = {
  public: 'no key',
  optional: 'key optional',
  bearer: 'key',
  licensed: 'key',
  order: 'key',
  member: 'signed-in person',
  console: 'page of the console',
  operator: 'operator',
  operatorSession: 'page of the operators',
  secret: 'key in the body',
}

const lineOf = (baseUrl: string, row: Endpoint): string =>
  `- \`${row.method} ${baseUrl}${row.path}\` (${authLabels[row.auth]}): ${row.summary}`

/** /llms.txt: what a language model needs to use the service, generated from the endpoint table. */
export const llmsText = (baseUrl: string, rows: readonly Endpoint[] = specification): string => `# PoHF

> Proof of human: signed credentials (ES256 JWT) which say that a real, attentive human did a specific act. Anyone checks them offline against public keys.

A key comes from \`POST ${baseUrl}/api/agents/register\` with \`{"name", "contactEmail", "mode"}\`; mode \`test\` is a free sandbox whose credentials are marked \`test:true\` and are never proof. Send \`Authorization: Bearer <key>\`. Every error is \`{"ok": false, "error", "message", "docs", ...}\`; \`error\` is one of a closed list.

## Documents

- [Documentation](${baseUrl}/docs): quick starts and guides for people
- [API reference](${baseUrl}/docs/reference/api): every operation with its fields, errors and a request to copy
- [OpenAPI](${baseUrl}/openapi.json): every operation with its schemas
- [Manifest](${baseUrl}/api/agents/discovery): what can be bought and how it is paid, at this moment
- [Error codes](${baseUrl}/docs/errors): what happened, why, and what to do

## Tools (MCP, Streamable HTTP)

- \`${baseUrl}/mcp\`: find, order and buy human work, check credentials
- \`${baseUrl}/mcp/identity\`: register an agent, verify a human

## Operations

${rows.map((row) => lineOf(baseUrl, row)).join('\n')}
`
