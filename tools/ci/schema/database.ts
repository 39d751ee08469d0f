import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, startCluster } from '../../../packages/server/dev/cluster.ts'
import { migrate } from '../../../packages/server/src/platform/db/migrate.ts'
import type { GeneratedFile } from '../pages/markdown.ts'
import { schemaSqlFiles } from './sql.ts'
import { schemaTypes } from './types.ts'

/** What is generated from a migrated database: the types of its tables, and the schema of each module. */
export const databaseFiles = async (): Promise<GeneratedFile[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-generate-'))
  const cluster = await startCluster({ folder })
  try {
    const url = await createDatabase(cluster, 'pohf')
    await migrate(url)
    return [
      ['packages/server/src/platform/db/schema.ts', await schemaTypes(url, join(folder, 'schema.ts'))],
      ...(await schemaSqlFiles(url)),
    ]
  } finally {
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
