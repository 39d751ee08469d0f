// Checks the types of every project of the repository. With --incremental what was found is kept for the next run.
import { spawnSync } from 'node:child_process'

const projects = ['.', 'packages/web', 'packages/tag', 'packages/docs', 'packages/demo'] as const
const folder = 'node_modules/.cache/types'

const isIncremental = process.argv.includes('--incremental')
for (const project of projects) {
  const kept = `${folder}/${project.replaceAll(/\W/g, '-')}.tsbuildinfo`
  const flags = isIncremental ? ['--incremental', '--tsBuildInfoFile', kept] : []
  const { status } = spawnSync('tsc', ['-p', project, ...flags], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
