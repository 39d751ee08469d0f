import {
  errorBody,
  errorCatalogue,
  errorCodes,
  type ErrorCode,
} from '../../../packages/protocol/src/index.ts'
import { fieldsOf } from './fields.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

export const errorsFolder = 'docs/reference/errors'

/** Two underscores begin bold text in Markdown, and a bracket a tag. */
const plain = (text: string): string =>
  text.replaceAll('__', String.raw`\_\_`).replaceAll('<', String.raw`\<`)

const errorPage = (code: ErrorCode): string => {
  const entry = errorCatalogue[code]
  return `# ${code}

Status ${entry.status}. ${entry.retryable ? 'The same call may succeed later.' : 'The same call will fail again.'}

**What happened.** ${plain(entry.message)}

**Why.** ${plain(entry.why)}

**What to do.** ${plain(entry.fix)}
`
}

const indexPage = (): string => {
  const rows = errorCodes
    .toSorted((a, b) => errorCatalogue[a].status - errorCatalogue[b].status || (a < b ? -1 : 1))
    .map((code) => {
      const { status, retryable, message } = errorCatalogue[code]
      return [String(status), `[\`${code}\`](${code}.md)`, retryable ? 'yes' : 'no', message]
    })
  return `${generatedNote}

# Error codes

Every error answer of the HTTP API has this body. The payment challenge (402 on a purchase) has the fields of x402 as
well. MCP tools answer with JSON-RPC.

${tableOf(['Field', 'Type'], fieldsOf(errorBody))}

Programs decide by \`error\`. The \`message\` is for people and may change. A code is never renamed and never changes its
status. \`retryable\` means that the same call may succeed later; where the answer has a \`Retry-After\` header, wait
that many seconds first.

There are ${errorCodes.length} codes. A running service shows the same texts at \`/docs/errors\` and \`/docs/errors/{code}\`.

${tableOf(['Status', 'Code', 'Retryable', 'Message'], rows)}
`
}

export const errorFiles = (): GeneratedFile[] => [
  [`${errorsFolder}/README.md`, indexPage()],
  ...errorCodes.map((code): GeneratedFile => [`${errorsFolder}/${code}.md`, errorPage(code)]),
]
