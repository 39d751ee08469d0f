import { specification, type Endpoint } from '@pohf/protocol'
import { answers, doors, reasons, sentence } from '@pohf/protocol/story'
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
  directory: 'directory of a company',
}

const lineOf = (baseUrl: string, row: Endpoint): string =>
  `- \`${row.method} ${baseUrl}${row.path}\` (${authLabels[row.auth]}): ${row.summary}`

/** /llms.txt: what a language model needs to use the service, generated from the endpoint table. */
export const llmsText = ({ baseUrl }: DocumentFacts): string => `# PoHF

> ${sentence}

${reasons.join(' ')} ${answers.limit} ${answers.cost}

${doors.map(({ title, value, notFor }) => `- ${title}: ${value} Not for: ${notFor}`).join('\n')}

A key comes from \`POST ${baseUrl}/api/agents/register\` with \`{"name", "contactEmail", "mode"}\`; mode \`test\` is a free sandbox whose credentials are marked \`test:true\` and are never proof. Send \`Authorization: Bearer <key>\`. Every error is \`{"ok": false, "error", "message", "docs", ...}\`; \`error\` is one of a closed list.

## Documents

${addresses.map(({ path, title, about }) => `- [${title}](${baseUrl}${path}): ${about}`).join('\n')}

## Tools (MCP, Streamable HTTP)

${mcpSurfaces.map(({ path, about }) => `- \`POST ${baseUrl}${path}\`: ${about}`).join('\n')}

## Operations

${specification.map((row) => lineOf(baseUrl, row)).join('\n')}
`
