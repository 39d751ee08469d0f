import { specification, type Endpoint } from '@pohf/protocol'
import { addresses, mcpSurfaces, type DocumentFacts } from './addresses.ts'

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
export const llmsText = ({ baseUrl }: DocumentFacts): string => `# PoHF

> Proof of human: signed credentials (ES256 JWT) about one act, which say what was recorded and what answered; a signed table says what forgeries cost. Anyone checks them offline against public keys.

A key comes from \`POST ${baseUrl}/api/agents/register\` with \`{"name", "contactEmail", "mode"}\`; mode \`test\` is a free sandbox whose credentials are marked \`test:true\` and are never proof. Send \`Authorization: Bearer <key>\`. Every error is \`{"ok": false, "error", "message", "docs", ...}\`; \`error\` is one of a closed list.

## Documents

${addresses.map(({ path, title, about }) => `- [${title}](${baseUrl}${path}): ${about}`).join('\n')}

## Tools (MCP, Streamable HTTP)

${mcpSurfaces.map(({ path, about }) => `- \`POST ${baseUrl}${path}\`: ${about}`).join('\n')}

## Operations

${specification.map((row) => lineOf(baseUrl, row)).join('\n')}
`
