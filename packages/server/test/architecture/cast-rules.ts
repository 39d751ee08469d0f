import { isAsExpression, isNonNullExpression, isTypeAssertion } from 'typescript/unstable/ast/is'
import { lineOf, nodesOf, withParsedFiles, type ParsedFile } from './syntax.ts'
import type { SourceFile } from './import-rules.ts'

/** Types that a store may cast to: the brand of an agent's id, of which a tenant is one, and literals. */
const permitted: ReadonlySet<string> = new Set(['AgentId', 'Tenant', 'const'])

const castsOf = (file: ParsedFile): string[] =>
  nodesOf(file.tree).flatMap((node) => {
    const isCast = isAsExpression(node) || isTypeAssertion(node)
    if (!isNonNullExpression(node) && !(isCast && !permitted.has(node.type.getText(file.tree)))) return []
    return [`${file.path}:${lineOf(file, node)}: ${node.getText(file.tree).replaceAll(/\s+/g, ' ')}`]
  })

/** Casts of stores that are not to a brand: a row has the type of its table, and other values are parsed. */
export const castFaults = (stores: readonly SourceFile[]): string[] =>
  withParsedFiles(stores, (parsed) => parsed.flatMap(castsOf))
