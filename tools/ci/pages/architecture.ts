import { readSources } from '../../../packages/server/test/architecture/import-rules.ts'
import { diagramOf, moduleGraphOf } from '../../../packages/server/test/architecture/module-graph.ts'
import { withGeneratedPart, type GeneratedFile } from './markdown.ts'

/** ARCHITECTURE.md with the diagram of the modules drawn from their imports. */
export const architectureFiles = (): GeneratedFile[] => {
  const diagram = diagramOf(moduleGraphOf(readSources()))
  return [withGeneratedPart('ARCHITECTURE.md', 'modules', `\`\`\`\n${diagram}\n\`\`\``)]
}
