import { execFileSync } from 'node:child_process'
import { root } from '../catalogue.ts'

type Component = { readonly 'bom-ref': string; readonly name: string }
export type Materials = {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
}

/** What is shipped: the server, its pages, the browser scripts and the command line, which depends on the libraries. */
const workspaces = ['server', 'web', 'tag', 'cli'].flatMap((name) => ['--workspace', `packages/${name}`])

/** npm names a workspace by its folder. Its reference has the name and the version of the manifest. */
const named = (component: Component): Component => ({
  ...component,
  name: component['bom-ref'].slice(0, component['bom-ref'].lastIndexOf('@')),
})

/** The bill of materials in CycloneDX: every package that runs in production, with its version, licence and hash. */
export const readMaterials = (): Materials => {
  const printed = execFileSync(
    'npm',
    ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only', ...workspaces],
    { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 67_108_864 },
  )
  const materials = JSON.parse(printed) as Materials
  return {
    ...materials,
    metadata: { ...materials.metadata, component: named(materials.metadata.component) },
    components: materials.components.map(named),
  }
}
