import { readSources } from '../../../packages/server/test/architecture/import-rules.ts'
import {
  diagramOf,
  moduleGraphOf,
  packageLinesOf,
} from '../../../packages/server/test/architecture/module-graph.ts'
import { withGeneratedPart, type GeneratedFile } from './markdown.ts'

/** ARCHITECTURE.md with the diagram of the modules and the importers of the packages, drawn from the imports. */
export const architectureFiles = (): GeneratedFile[] => {
  const files = readSources()
  const diagram = `${diagramOf(moduleGraphOf(files))}\n\n${packageLinesOf(files)}`
  return [withGeneratedPart('ARCHITECTURE.md', 'modules', `\`\`\`\n${diagram}\n\`\`\``)]
}
